import { chmod, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { type FileLock, isRoot, lockFile } from "@berth/host";
import type { Cgroups } from "./cgroup.ts";
import { emptyTrash, removeFolder } from "./folder-removal.ts";
import { findIsolation } from "./isolation.ts";
import { runPaths } from "./paths.ts";
import { portPool } from "./ports.ts";
import { NEW_RECORD, readRecord, readSpec } from "./record.ts";
import { findReleases, removeReleaseFolders } from "./release-folders.ts";
import { prepareRuntime, pruneRuntimes } from "./runtime.ts";
import type { ProcessSettings, ReleaseHost } from "./settings.ts";
import { SupervisedRelease } from "./supervisor.ts";
import { takeUserRange } from "./user-range.ts";
import { removeWorkplaces } from "./workplace.ts";

export interface OpenOptions {
  readonly dataFolder: string;
  readonly runtimeFolder: string;
  readonly instanceFolder: string;
  readonly userRanges: string | undefined;
  readonly settings: ProcessSettings;
  readonly cgroups: Cgroups;
  emit(state: ReleaseState): void;
  warn(message: string, cause: unknown): void;
}

/** An open engine, which holds the lock of the data folder. */
export interface RunningEngine {
  readonly host: ReleaseHost;
  /** Supervised releases by deployment uuid. */
  readonly releases: Map<string, SupervisedRelease>;
  remove(ref: ReleaseRef, graceSeconds: number): Promise<void>;
  close(): void;
}

const TICK_MS = 500; // Watches report crashes at once; polling is for systems without watches.

/** @throws DomainError `setup.failed` */
export async function openEngine(options: OpenOptions): Promise<RunningEngine> {
  const { dataFolder, runtimeFolder } = options;
  await mkdir(dataFolder, { recursive: true });
  // Execute permission only: applications can pass through to their own folders, but not list others.
  await chmod(dataFolder, 0o711);
  if (isRoot()) await checkWay(dataFolder);
  const lock = takeLock(join(dataFolder, "applications.lock"));
  try {
    const runtime = await prepareRuntime(runtimeFolder);
    const isolation = await findIsolation(options);
    if (isolation.gap !== undefined) options.warn(isolation.gap, undefined);
    const settings = await withUserRange(options);
    const host: ReleaseHost = { ...options, settings, runtime, isolation, ports: portPool(settings.ports) };
    await emptyTrash(dataFolder);
    await removeWorkplaces(dataFolder);
    const releases = await adoptReleases(host);
    const remove = removal(host, releases);
    const unfinished = [...releases.values()].filter((release) => release.record.isRemoving);
    await Promise.all(
      unfinished.map((release) => isolated(host, release.spec, "removed", () => remove(release.spec, 0))),
    );
    await pruneRuntimes(runtimeFolder, usedRuntimes(runtime.folder, releases));
    const ticker = setInterval(() => {
      for (const release of releases.values()) release.tick();
    }, TICK_MS).unref();
    return {
      host,
      releases,
      remove,
      close() {
        clearInterval(ticker);
        for (const release of releases.values()) release.detach();
        lock.release();
      },
    };
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

async function withUserRange({ settings, userRanges, dataFolder, warn }: OpenOptions): Promise<ProcessSettings> {
  if (userRanges === undefined || !isRoot()) return settings;
  return { ...settings, uidBase: await takeUserRange({ registry: userRanges, dataFolder, warn }) };
}

/** Two engines on one data folder would start every release twice. */
function takeLock(path: string): FileLock {
  const attempt = lockFile(path);
  if (attempt.lock !== undefined) return attempt.lock;
  const holder = attempt.pid === undefined ? "Another process" : `Process ${attempt.pid}`;
  throw new DomainError("setup.failed", `${holder} already runs the applications in this folder. Stop it first.`);
}

/** All parent folders must let other users pass through. */
async function checkWay(folder: string): Promise<void> {
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) !== 0) continue;
    const message = `Applications run as other users and cannot enter ${path} to reach ${folder}. Set BERTH_DATA to another folder, or run "chmod o+x ${path}".`;
    throw new DomainError("setup.failed", message);
  }
}

/** A failed takeover of one release does not prevent the others. */
async function adoptReleases(host: ReleaseHost): Promise<Map<string, SupervisedRelease>> {
  const releases = new Map<string, SupervisedRelease>();
  for (const ref of await findReleases(host.dataFolder)) {
    await isolated(host, ref, "read", async () => {
      const paths = runPaths(host.dataFolder, ref);
      const spec = await readSpec(paths);
      // The control plane died before it stored what to run, so nothing runs.
      if (spec === undefined) await removeFolder(host.dataFolder, paths.folder);
      else releases.set(ref.deploymentUuid, new SupervisedRelease(host, spec, (await readRecord(paths)) ?? NEW_RECORD));
    });
  }
  await Promise.all(
    [...releases.values()].map((release) => isolated(host, release.spec, "taken over", () => release.adopt())),
  );
  return releases;
}

async function isolated(host: ReleaseHost, ref: ReleaseRef, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    host.warn(`Release ${ref.deploymentUuid} could not be ${what}.`, cause);
  }
}

/** Concurrent removals of a release share one run. */
function removal(host: ReleaseHost, releases: Map<string, SupervisedRelease>): RunningEngine["remove"] {
  const running = new Map<string, Promise<void>>();

  async function remove(ref: ReleaseRef, graceSeconds: number): Promise<void> {
    const { resourceUuid, deploymentUuid } = ref;
    await releases.get(deploymentUuid)?.retire(graceSeconds);
    await removeReleaseFolders(host.dataFolder, { resourceUuid, deploymentUuid }, releases);
    releases.delete(deploymentUuid);
  }

  return (ref, graceSeconds) => {
    const earlier = running.get(ref.deploymentUuid);
    if (earlier !== undefined) return earlier;
    const work = remove(ref, graceSeconds).finally(() => running.delete(ref.deploymentUuid));
    running.set(ref.deploymentUuid, work);
    return work;
  };
}

function usedRuntimes(current: string, releases: ReadonlyMap<string, SupervisedRelease>): Set<string> {
  const running = [...releases.values()].map((release) => release.record).filter((record) => record.process !== null);
  return new Set([current, ...running.flatMap((record) => record.runtime ?? [])]);
}
