import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

/** Thrown when the machine lacks a feature; the result table shows the reason. */
export class NotSupported extends Error {}

/** A control group with a memory limit, in cgroup version 1 or 2. */
export function memoryGroup(mb: number) {
  const isSecond = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const root = isSecond ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const group = `${root}/berth-faults-${process.pid}`;
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
    move: (pid: number) => moveIfThere(pid, group),
    remove(pid: number) {
      moveIfThere(pid, root);
      rmdirSync(group);
    },
  };
}

/** A connection of the database may have ended between listing and moving. */
function moveIfThere(pid: number, group: string): void {
  try {
    writeFileSync(`${group}/cgroup.procs`, String(pid));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** A control group whose processes may write to a device so many times in a second. */
export function writeGroup(device: string, writesPerSecond: number) {
  const isSecond = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const root = isSecond ? "/sys/fs/cgroup" : "/sys/fs/cgroup/blkio";
  const group = `${root}/berth-faults-${process.pid}`;
  const number = readFileSync(`/sys/class/block/${basename(device)}/dev`, "utf8").trim();
  try {
    mkdirSync(group);
    if (isSecond) writeFileSync(`${group}/io.max`, `${number} wiops=${writesPerSecond}`);
    else writeFileSync(`${group}/blkio.throttle.write_iops_device`, `${number} ${writesPerSecond}`);
  } catch (error) {
    rmSync(group, { recursive: true, force: true });
    throw new NotSupported(`writes of a control group cannot be limited here: ${reasonOf(error)}`);
  }
  return {
    move: (pid: number) => moveIfThere(pid, group),
    remove(pids: readonly number[]) {
      for (const pid of pids) moveIfThere(pid, root);
      rmdirSync(group);
    },
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message.split(",", 1)[0] : String(error));
