import { dirname, join } from "node:path";
import { isDomainError } from "@berth/core";
import type { Host } from "@berth/host";
import type Docker from "dockerode";
import { type CgroupLimits, CONTROLLERS, type Controller, limitFiles } from "../../cgroup-limits.ts";

/** Percent of a server's memory and processors that all of its builds together may take. 100: no limit. */
export interface BuildShares {
  readonly memory: number;
  readonly cpu: number;
}

export interface BuildGroupPlace {
  readonly host: Host;
  readonly docker: Docker;
  readonly shares: BuildShares;
}

export interface BuildLimits {
  /** The control group that BuildKit has to be given for each step; `undefined`: none has to be named. */
  readonly group: string | undefined;
  /** Why builds of this server have no limits, with the remedy; `undefined`: they have. */
  readonly gap: string | undefined;
}

/**
 * Limits the build steps of a server by a control group. It has one name for all builds, since BuildKit would repeat
 * steps that it has kept if their group had another.
 */
export async function limitBuilds({ host, docker, shares }: BuildGroupPlace): Promise<BuildLimits> {
  const { ServerVersion = "", CgroupDriver, MemTotal, NCPU }: EngineInfo = await docker.info();
  const isOld = Number.parseInt(ServerVersion, 10) < ENGINE_MIN;
  if (isOld && CgroupDriver !== "cgroupfs") return { group: undefined, gap: gapOf(host, outdated(ServerVersion)) };
  const limits = {
    memoryBytes: shares.memory === 100 ? null : Math.floor((MemTotal * shares.memory) / 100),
    cpus: shares.cpu === 100 ? null : (NCPU * shares.cpu) / 100,
    processesMax: PROCESSES_MAX,
  };
  const group = isOld ? OLD_GROUP : GROUP;
  if (!(await limitGroup(host, group, limits))) return { group: undefined, gap: gapOf(host, NOT_ROOT) };
  return { group: isOld ? undefined : group, gap: undefined };
}

interface EngineInfo {
  readonly ServerVersion?: string;
  readonly CgroupDriver?: string;
  readonly MemTotal: number;
  readonly NCPU: number;
}

const gapOf = ({ name }: Host, reason: string): string =>
  `Builds on server ${name} have no limits of memory, CPU and processes: ${reason}`;
const outdated = (version: string): string =>
  `Docker ${version} cannot limit them. Upgrade to Docker ${ENGINE_MIN} or newer.`;
const NOT_ROOT = "only root can make a control group. Connect Berth to the server as root.";

async function limitGroup(host: Host, group: string, limits: CgroupLimits): Promise<boolean> {
  const version = (await host.files.read(join(ROOT, "cgroup.controllers"))) === undefined ? 1 : 2;
  const files = limitFiles(version, limits);
  // Each level, from the root on, must enable a controller for the next one.
  const levels = version === 2 ? [ROOT, join(ROOT, dirname(group))] : [];
  for (const level of levels) {
    await makeGroup(host, level);
    for (const controller of CONTROLLERS) await write(host, join(level, "cgroup.subtree_control"), `+${controller}`);
  }
  const limited = await Promise.all(
    CONTROLLERS.map(async (controller) => {
      const folder = join(ROOT, version === 2 ? "" : controller, group);
      await makeGroup(host, folder);
      return await writeAll(host, folder, files[controller]);
    }),
  );
  return limited.every(Boolean);
}

/** A folder that cannot be made shows when its files are written. */
const makeGroup = (host: Host, folder: string): Promise<void> => host.files.makeFolder(folder).catch(() => undefined);

async function writeAll(
  host: Host,
  folder: string,
  files: ReturnType<typeof limitFiles>[Controller],
): Promise<boolean> {
  for (const [name, value] of Object.entries(files)) {
    if (!(await write(host, join(folder, name), value))) return false;
  }
  return true;
}

/** These files can only be written in place. */
async function write(host: Host, path: string, value: string): Promise<boolean> {
  try {
    const { exitCode } = await host.run(["tee", path], { env: { PATH: SYSTEM_PATH }, stdin: value });
    return exitCode === 0;
  } catch (cause) {
    if (isDomainError(cause, "engine.failed")) return false; // The server has no such program.
    throw cause;
  }
}

const ROOT = "/sys/fs/cgroup";
/** Groups of the process engine have the same parent. */
const GROUP = "/berth/builds";
/** Older engines run every build in this group, also builds that Berth did not start. */
const OLD_GROUP = "/docker/buildkit";
const ENGINE_MIN = 23;
/** For all builds of a server; a build may start a worker for each processor. */
const PROCESSES_MAX = 8192;
const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
