import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { FolderArtifact, ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import {
  carriedEnv,
  endGroup,
  groupMembers,
  identify,
  isLiving,
  type ProcessGroup,
  type ProcessIdentity,
  type ProcessStat,
  pidsWithEnv,
  processes,
  processStat,
  spawnDetached,
} from "@berth/host";
import { MARKER, markerOf, releaseEnv } from "./environment.ts";
import { askInOrder } from "./graceful-stop.ts";
import { isBelow, type RunPaths, resourcePaths, runPaths } from "./paths.ts";
import { type ReleaseHost, userOf } from "./settings.ts";
import { commandOf, readResult, shimArgv } from "./shim.ts";

const KILLED = 137; // 128 + SIGKILL: only then does a shim end without writing an exit code.
const PUMP_SECONDS_MAX = 1; // Output still in the pipe is written within milliseconds.

/**
 * Starts the release's processes, which wait until `record` has stored their identity: so a control plane that dies
 * meanwhile leaves no unknown process behind.
 */
export async function launch(
  host: ReleaseHost,
  spec: ReleaseSpec,
  port: number,
  record: (identity: ProcessIdentity) => Promise<void>,
): Promise<void> {
  const artifact = await folderOf(host, spec);
  const paths = resourcePaths(host.dataFolder, spec.resourceUuid);
  const files = runPaths(host.dataFolder, spec);
  const { processesMax } = host.settings;
  const user = userOf(host.settings, spec.resourceNumber);
  host.cgroups.create(spec.deploymentUuid, { ...spec.limits, processesMax });
  const env = releaseEnv(spec, { port, host: host.settings.hostAddress, paths, runtime: host.runtime });
  const isCounted = user !== undefined && !host.cgroups.hasPids;
  const argv = shimArgv(commandOf(artifact, host.runtime), isCounted ? processesMax : "unlimited");
  const child = await spawnDetached(argv, {
    env: { ...carriedEnv(env), [MARKER]: spec.deploymentUuid },
    cwd: artifact.workingFolder,
    user,
    sandbox: user && (await host.isolation.sandbox(spec.resourceUuid, spec.storages)),
    logFile: files.log,
    resultFile: files.result,
    isGated: true,
    cgroupFiles: host.cgroups.files(spec.deploymentUuid),
  });
  try {
    const identity = identify(child.pid);
    if (identity === undefined) throw new DomainError("deploy.start_failed", "The application ended while it started.");
    await Promise.all([child.joined, record(identity)]);
  } catch (cause) {
    await endGroup({ groupId: child.pid }, 0);
    throw cause;
  }
  child.open();
}

/** Whether the application itself has exited; other processes of its release may still run. */
export const hasEnded = (paths: RunPaths, identity: ProcessIdentity): boolean =>
  !isLiving(identity) || readResult(paths.result) !== undefined;

/**
 * Ends all processes of a release and resolves when they have exited and their output is in the log.
 * @returns The application's exit code.
 */
export async function endRelease(
  host: ReleaseHost,
  ref: ReleaseRef,
  identity: ProcessIdentity | null,
  graceSeconds: number,
): Promise<number> {
  const pumps = logWriters(host, ref, identity);
  await endGroup(groupOf(host, ref, identity, pumps), graceSeconds);
  const deadline = Date.now() + PUMP_SECONDS_MAX * 1000;
  while (pumps.some((pid) => processStat(pid) !== undefined) && Date.now() < deadline) await delay(5);
  return readResult(runPaths(host.dataFolder, ref).result) ?? KILLED;
}

/** Living processes of a release, including its shim but not the log's writer. */
export function releasePids(host: ReleaseHost, ref: ReleaseRef, identity: ProcessIdentity | null): number[] {
  const pumps = logWriters(host, ref, identity);
  return groupOf(host, ref, identity, pumps)
    .members()
    .map((stat) => stat.pid);
}

/** Processes that append to a shim's log: all in the separate session that the shim starts. */
export function logWriters(host: ReleaseHost, ref: ReleaseRef, identity: ProcessIdentity | null): number[] {
  if (identity === null || !isLiving(identity)) return [];
  const inCgroup = host.cgroups.members(ref.deploymentUuid);
  const all = inCgroup === undefined ? processes() : statsOf(inCgroup);
  const leaders = all.filter((stat) => stat.parentPid === identity.pid && stat.groupId !== identity.pid);
  return all.filter((stat) => leaders.some(({ groupId }) => stat.groupId === groupId)).map((stat) => stat.pid);
}

function groupOf(
  host: ReleaseHost,
  ref: ReleaseRef,
  identity: ProcessIdentity | null,
  pumps: readonly number[],
): ProcessGroup & { members(): ProcessStat[] } {
  const groupId = identity !== null && isLiving(identity) ? identity.pid : undefined;
  const isApplication = (pid: number) => !pumps.includes(pid);
  const all = () => cgroupMembers(host, ref, identity)?.filter(isApplication);
  const outside = () => pidsWithEnv(markerOf(ref)).filter(isApplication);
  const others = () => outside().filter((pid) => processStat(pid)?.groupId !== groupId);
  const members = () => {
    const grouped = all();
    if (grouped !== undefined) return statsOf(grouped);
    return [...(groupId === undefined ? [] : groupMembers(groupId)), ...statsOf(others())];
  };
  return { groupId, all, others, members, ask: askInOrder(members, groupId) };
}

/**
 * All processes of a release: it joins its cgroup before it starts any, and none can leave it. `undefined` where the
 * machine has no cgroups, or the release was started before it had any: reading all processes of the machine, which
 * takes long on a busy one, is left for those.
 */
function cgroupMembers({ cgroups }: ReleaseHost, ref: ReleaseRef, identity: ProcessIdentity | null) {
  return cgroups.members(ref.deploymentUuid) ?? (cgroups.isUsable && identity === null ? [] : undefined);
}

const statsOf = (pids: readonly number[]): ProcessStat[] => pids.flatMap((pid) => processStat(pid) ?? []);

/** @throws DomainError `deploy.start_failed`, `engine.unsupported` */
export async function folderOf(host: ReleaseHost, spec: ReleaseSpec): Promise<FolderArtifact> {
  const { artifact } = spec;
  if (artifact.type !== "folder") {
    throw new DomainError("engine.unsupported", "This server runs no images. Deploy to one with Docker.");
  }
  const { releases } = resourcePaths(host.dataFolder, spec.resourceUuid);
  const isInside = (folder: string) => folder === artifact.folder || isBelow(artifact.folder, folder);
  if (!isBelow(releases, artifact.folder) || !isInside(artifact.workingFolder)) {
    throw new DomainError("deploy.start_failed", "The release lies outside of the application's folder. Deploy again.");
  }
  const found = await stat(artifact.workingFolder).catch((cause: unknown) => {
    if (!(cause instanceof Error && "code" in cause)) throw cause;
  });
  if (found?.isDirectory() === true) return artifact;
  throw new DomainError("deploy.start_failed", "The built folder no longer exists. Deploy again.");
}
