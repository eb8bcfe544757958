import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ReleaseSpec } from "@berth/core/deploy";
import { type HostUser, isRoot, run, type Sandbox } from "@berth/host";
import { isBelow, resourcePaths } from "./paths.ts";

/** Isolates applications, with their builds and commands, from each other on this machine. */
export interface Isolation {
  /** A sentence about what applications still share; `undefined` when they are fully isolated. */
  readonly gap: string | undefined;
  /** Sandbox for a new process of a resource, whose folder exists. `undefined`: the machine supports none. */
  sandbox(resourceUuid: string, storages?: ReleaseSpec["storages"]): Promise<Sandbox | undefined>;
  /** Sandbox for a new process that sees only these folders of the instance. `undefined`: the machine supports none. */
  sandboxOf(visible: readonly string[]): Promise<Sandbox | undefined>;
  /** Sandbox shared with a running process of the same resource. */
  beside(pid: number): Sandbox | undefined;
}

export interface IsolationOptions {
  readonly dataFolder: string;
  readonly runtimeFolder: string;
  /** Applications cannot see this folder, except their own part of it and the runtime. */
  readonly instanceFolder: string;
}

/** Detects what the machine supports by trying. */
export async function findIsolation(options: IsolationOptions): Promise<Isolation> {
  const stage = join(options.dataFolder, ".stage");
  await mkdir(stage, { recursive: true, mode: 0o700 });
  const place = { stage: await realpath(stage), hidden: await realpath(options.instanceFolder) };
  const runtime = await realpath(options.runtimeFolder);
  const sandbox = (visible: readonly string[]): Sandbox => ({ create: { ...place, visible } });
  const { isUsable, gap } = await probe(sandbox([runtime]));
  if (!isUsable)
    return { gap, sandbox: async () => undefined, sandboxOf: async () => undefined, beside: () => undefined };
  return {
    gap,
    beside: (pid) => ({ join: pid }),
    sandboxOf: async (visible) => sandbox(await Promise.all(visible.map((folder) => realpath(folder)))),
    async sandbox(resourceUuid, storages = []) {
      const own = await realpath(resourcePaths(options.dataFolder, resourceUuid).folder);
      return sandbox([runtime, own, ...(await covered(storages, place.hidden))]);
    },
  };
}

/** Mounted folders of the machine that the sandbox's own /tmp, /var/tmp or /dev/shm would hide. */
async function covered(storages: ReleaseSpec["storages"], hidden: string): Promise<string[]> {
  const folders = storages.flatMap((mount) => (mount.type === "folder" ? [mount.hostPath] : []));
  const paths = await Promise.all(folders.map((folder) => realpath(folder)));
  return paths.filter((path) => OWN_FOLDERS.some((top) => isBelow(top, path)) && !isBelow(hidden, path));
}

const OWN_FOLDERS = ["/tmp", "/var/tmp", "/dev/shm"];

async function probe(sandbox: Sandbox): Promise<{ readonly isUsable: boolean; readonly gap: string | undefined }> {
  if (!isRoot()) return { isUsable: false, gap: NOT_ROOT };
  const script = "touch /tmp/berth /var/tmp/berth /dev/shm/berth || exit 2; if [ -e /proc/1 ]; then echo processes; fi";
  const attempt = await run(["/bin/sh", "-c", script], { env: {}, programEnv: {}, user: NOBODY, sandbox }).catch(
    (cause: unknown) => ({ exitCode: 126, output: cause instanceof Error ? cause.message : "" }),
  );
  if (attempt.exitCode !== 0) return { isUsable: false, gap: notAllowed(attempt.output) };
  return { isUsable: true, gap: attempt.output.includes("processes") ? VISIBLE_PROCESSES : undefined };
}

const NOBODY: HostUser = { uid: 65_534, gid: 65_534 };

const NOT_ROOT =
  "Applications and programs that prepare builds run as the user of Berth and can read each other's files and Berth's own. " +
  "Start Berth as root, or deploy to a server with Docker, to keep them apart.";

const VISIBLE_PROCESSES =
  "Applications can see each other's processes, though not their variables. " + "Linux 5.8 or newer hides them.";

function notAllowed(output: string): string {
  const reason = output.trim().split("\n")[0]?.slice(0, 200) ?? "";
  return (
    `Applications and programs that prepare builds share /tmp and see which processes run: this machine allows no mount namespaces (${reason}). ` +
    "Install util-linux and, in a container, add the capability SYS_ADMIN."
  );
}
