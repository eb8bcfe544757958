import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestModule } from "vitest/node";

const SLOWEST = 10;
const ALL_FILES = fileURLToPath(new URL("../../reports/times.json", import.meta.url));

interface Times {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
}

/** Reports at the end how the run's time was spent: by project, in the slowest files, and in a list of all files. */
export default class TimesReporter implements Reporter {
  readonly #startedAt = Date.now();
  readonly #processorsBefore = processors();

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({
      name: `${module.project.name} ${module.relativeModuleId}`,
      project: module.project.name,
      ...timesOf(module),
      startedSeconds: ((module.meta().startedMs ?? this.#startedAt) - this.#startedAt) / 1000,
      slotSeconds: module.meta().slotSeconds ?? 0,
    }));
    const projects = Map.groupBy(files, ({ project }) => project);
    const rows = [...projects].map(([name, members]) => ({ name, ...totalOf(members) }));
    console.log(`\nTests took ${seconds((Date.now() - this.#startedAt) / 1000)} of wall time.`);
    const { busyMs, allMs } = processors();
    const share = (busyMs - this.#processorsBefore.busyMs) / Math.max(1, allMs - this.#processorsBefore.allMs);
    const waited = files.reduce((sum, { slotSeconds }) => sum + slotSeconds, 0);
    console.log(`The processors were busy for ${Math.round(share * 100)} % of it, with all that ran on the machine.`);
    console.log(`Suites with containers waited ${seconds(waited)} for a place, which is contained in the times below.`);
    console.log("By project: seconds of its files added up, and CPU of workers and their programs (not of containers)");
    print(rows);
    console.log(`The ${Math.min(SLOWEST, files.length)} slowest files`);
    print(files.toSorted(bySlowness).slice(0, SLOWEST));
    mkdirSync(dirname(ALL_FILES), { recursive: true });
    writeFileSync(ALL_FILES, JSON.stringify(files.toSorted(bySlowness), undefined, 2));
  }
}

/** Time of all processors since the machine's start. */
function processors(): { readonly busyMs: number; readonly allMs: number } {
  const times = cpus().map((one) => one.times);
  const idleMs = times.reduce((sum, { idle }) => sum + idle, 0);
  const allMs = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return { busyMs: allMs - idleMs, allMs };
}

function timesOf(module: TestModule): Times {
  const { collectDuration, duration, setupDuration } = module.diagnostic();
  const wallSeconds = (collectDuration + duration + setupDuration) / 1000;
  return { wallSeconds, cpuSeconds: module.meta().cpuSeconds ?? 0 };
}

const totalOf = (files: readonly Times[]): Times => ({
  wallSeconds: files.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0),
  cpuSeconds: files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
});

const bySlowness = (one: Times, other: Times): number => other.wallSeconds - one.wallSeconds;

function print(rows: readonly (Times & { readonly name: string })[]): void {
  for (const { name, wallSeconds, cpuSeconds } of rows.toSorted(bySlowness)) {
    console.log(`  ${seconds(wallSeconds).padStart(8)}  CPU ${seconds(cpuSeconds).padStart(8)}  ${name}`);
  }
}

const seconds = (value: number): string => `${value.toFixed(1)} s`;
