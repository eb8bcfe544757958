/**
 * CPU time of `work` on this thread, relative to the time that the thread takes at the same moment to read and write
 * 100 KB of JSON twenty times (some 20 ms on a machine of 2026). It does not depend on the machine's speed or load,
 * so a test can limit it: what is quadratic in a long input costs hundreds or thousands.
 */
export function cpuCost(work: () => unknown): number {
  const reference = Math.min(cpuTime(readAndWrite), cpuTime(readAndWrite));
  return cpuTime(work) / reference;
}

/** The same of work that waits in between, for things that need no time of their own. */
export async function asyncCpuCost(work: () => Promise<unknown>): Promise<number> {
  const reference = Math.min(cpuTime(readAndWrite), cpuTime(readAndWrite));
  const before = process.threadCpuUsage();
  await work();
  return spent(before) / reference;
}

/**
 * Whether it is fast enough not to delay others: some 50 ms, doubled because tests run sources that are not compiled
 * yet. The fastest of several runs counts: the first ones are compiled meanwhile, and any may collect garbage of
 * earlier tests or share its core with others.
 */
export function isMoment(work: () => unknown): boolean {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS_MAX; run += 1) {
    fastest = Math.min(fastest, cpuTime(work));
    if (fastest / cpuTime(readAndWrite) < MOMENT) return true;
  }
  return false;
}

const MOMENT = 5;
const RUNS_MAX = 10;

function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  return spent(before);
}

function spent(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

const TEXT = JSON.stringify(
  Array.from({ length: 2000 }, (_, at) => ({ name: `n${at}`, value: at, list: [at, at + 1] })),
);

const readAndWrite = () => {
  for (let turn = 0; turn < 20; turn += 1) JSON.stringify(JSON.parse(TEXT));
};
