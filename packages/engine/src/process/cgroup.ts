import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { type CgroupLimits, CONTROLLERS, type Controller, limitFiles } from "../cgroup-limits.ts";

/** Limits groups of processes by cgroups, version 1 or 2, where we may create them. */
export interface Cgroups {
  readonly hasMemory: boolean;
  readonly hasCpu: boolean;
  readonly hasPids: boolean;
  /** Makes the group or changes its limits. */
  create(name: string, limits: CgroupLimits): void;
  /** A process whose id is written to all of these joins the group, with all that it starts from then on. */
  files(name: string): readonly string[];
  /** Whether groups can be made: then every process that has joined one stays in it until it exits. */
  readonly isUsable: boolean;
  /** Process ids in the group; `undefined` where it does not exist. */
  members(name: string): number[] | undefined;
  /** Removes an empty group. Idempotent. */
  remove(name: string): Promise<void>;
}

/** The folder of groups, and the names of each controller's limit files in it. */
interface Hierarchy {
  folder(controller: Controller): string;
  readonly files: (limits: CgroupLimits) => ReturnType<typeof limitFiles>;
}

/** Detects the hierarchy by trying. Every group is created below `berth`. */
export function findCgroups(root = "/sys/fs/cgroup"): Cgroups {
  const hierarchy = existsSync(join(root, "cgroup.controllers")) ? version2(root) : version1(root);
  const usable = CONTROLLERS.filter((controller) => canLimit(hierarchy, controller));
  const folders = (name: string) => new Map(usable.map((one) => [one, join(hierarchy.folder(one), name)]));
  const memberFiles = (name: string) =>
    [...new Set(folders(name).values())].map((folder) => join(folder, "cgroup.procs"));

  return {
    isUsable: usable.length > 0,
    hasMemory: usable.includes("memory"),
    hasCpu: usable.includes("cpu"),
    hasPids: usable.includes("pids"),
    create(name, limits) {
      const files = hierarchy.files(limits);
      for (const [controller, folder] of folders(name)) {
        mkdirSync(folder, { recursive: true });
        for (const [file, value] of Object.entries(files[controller])) setLimit(join(folder, file), value);
      }
    },
    files: memberFiles,
    members(name) {
      const lists = memberFiles(name).filter(existsSync);
      return lists.length === 0 ? undefined : [...new Set(lists.flatMap(pidsIn))];
    },
    async remove(name) {
      for (const folder of new Set(folders(name).values())) await removeGroup(folder);
    },
  };
}

function version1(root: string): Hierarchy {
  return {
    folder: (controller) => join(root, controller, "berth"),
    files: (limits) => limitFiles(1, limits),
  };
}

function version2(root: string): Hierarchy {
  const parent = join(root, "berth");
  for (const controller of CONTROLLERS) {
    // Each level, from the root on, must enable a controller for the next one.
    write(join(root, "cgroup.subtree_control"), `+${controller}`);
    makeGroup(parent);
    write(join(parent, "cgroup.subtree_control"), `+${controller}`);
  }
  return {
    folder: () => parent,
    files: (limits) => limitFiles(2, limits),
  };
}

/** Tries it: creates a group, looks for the limit file and removes the group. */
function canLimit(hierarchy: Hierarchy, controller: Controller): boolean {
  const folder = join(hierarchy.folder(controller), `try-${process.pid}`);
  if (!makeGroup(folder)) return false;
  const files = Object.keys(hierarchy.files({ memoryBytes: null, cpus: null, processesMax: 1 })[controller]);
  const isUsable = files.every((file) => existsSync(join(folder, file)));
  rmdirSync(folder);
  return isUsable;
}

function makeGroup(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return false;
    throw cause;
  }
}

function write(path: string, value: string): boolean {
  try {
    writeFileSync(path, value);
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return false;
    throw cause;
  }
}

function setLimit(path: string, value: string): void {
  if (write(path, value)) return;
  const message = "The limits of memory and processors cannot be set: the kernel refuses them. Set other limits.";
  throw new DomainError("deploy.start_failed", message, { cause: new Error(`${path} = ${value}`) });
}

const pidsIn = (path: string): number[] => readFileSync(path, "utf8").split("\n").filter(Boolean).map(Number);

/** A group stays busy for a moment after its last process has exited. */
async function removeGroup(folder: string): Promise<void> {
  for (let tries = 50; existsSync(folder); tries--) {
    try {
      rmdirSync(folder);
    } catch (cause) {
      if (tries === 0 || !(cause instanceof Error && "code" in cause)) throw cause;
      await delay(20);
    }
  }
}
