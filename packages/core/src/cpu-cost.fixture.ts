/**
 * CPU time of `work` on this thread, as a multiple of the time that the thread takes at the same moment to read and write
 * a JSON text of 100 KB twenty times (some 20 ms on a machine of 2026). A slow or a busy machine does not change it, so a
 * test can bound it: what is quadratic in a long input costs hundreds or thousands.
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
 * Whether nobody else has to wait for it: it costs some 50 ms, and as much again, because a test runs sources that are
 * not compiled yet. Asked again where it costs more, since the first time collects what others left in memory.
 */
export const isMoment = (work: () => unknown): boolean => [1, 2, 3].some(() => cpuCost(work) < MOMENT);

const MOMENT = 5;

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
