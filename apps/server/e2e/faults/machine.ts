import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";

/** Thrown when the machine lacks a feature; the result table shows the reason. */
export class NotSupported extends Error {}

/** A control group with a memory limit, in cgroup version 1 or 2. */
export function memoryGroup(mb: number) {
  const isSecond = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const root = isSecond ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const group = `${root}/berth-faults-${process.pid}`;
  const put = (folder: string, pid: number) => writeFileSync(`${folder}/cgroup.procs`, String(pid));
  try {
    mkdirSync(group);
  } catch (error) {
    throw new NotSupported(`no control group of its own can be made here: ${reasonOf(error)}`);
  }
  try {
    writeFileSync(`${group}/${isSecond ? "memory.max" : "memory.limit_in_bytes"}`, String(mb * 1024 * 1024));
  } catch (error) {
    rmdirSync(group);
    throw new NotSupported(`memory of a control group cannot be limited here: ${reasonOf(error)}`);
  }
  return {
    move: (pid: number) => put(group, pid),
    remove(pid: number) {
      put(root, pid);
      rmdirSync(group);
    },
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message.split(",", 1)[0] : String(error));
