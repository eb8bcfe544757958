import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { ReleaseSpec } from "@berth/core/deploy";
import { type HostUser, isRoot, run, type Sandbox } from "@berth/host";
import { isBelow, resourcePaths } from "./paths.ts";

/** What keeps applications, and their builds and commands, apart on this machine. */
export interface Isolation {
  /** A sentence about what applications still share; `undefined` when they share nothing. */
  readonly gap: string | undefined;
  /** For a new process of a resource, whose folder exists. `undefined`: the machine offers none. */
  sandbox(resourceUuid: string, storages?: ReleaseSpec["storages"]): Promise<Sandbox | undefined>;
  /** For a process beside one of the same resource that runs already. */
  beside(pid: number): Sandbox | undefined;
}

export interface IsolationOptions {
  readonly dataFolder: string;
  readonly runtimeFolder: string;
  /** Applications see nothing of it but their own folders and the runtime. */
  readonly instanceFolder: string;
}

/** Finds out by trying what the machine allows. */
export async function findIsolation(options: IsolationOptions): Promise<Isolation> {
  const stage = join(options.dataFolder, ".stage");
  await mkdir(stage, { recursive: true, mode: 0o700 });
  const place = { stage: await realpath(stage), hidden: await realpath(options.instanceFolder) };
  const runtime = await realpath(options.runtimeFolder);
  const sandbox = (visible: readonly string[]): Sandbox => ({ create: { ...place, visible } });
  const { isUsable, gap } = await probe(sandbox([runtime]));
  if (!isUsable) return { gap, sandbox: async () => undefined, beside: () => undefined };
  return {
    gap,
    beside: (pid) => ({ join: pid }),
    async sandbox(resourceUuid, storages = []) {
      const own = await realpath(resourcePaths(options.dataFolder, resourceUuid).folder);
      return sandbox([runtime, own, ...(await covered(storages, place.hidden))]);
    },
  };
}

/** Folders of the machine that are mounted from where the sandbox has folders of its own. */
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
  "Applications run as the user of Berth and can read each other's files and Berth's own. " +
  "Start Berth as root, or deploy to a server with Docker, to keep them apart.";

const VISIBLE_PROCESSES =
  "Applications can see each other's processes, though not their variables. " + "Linux 5.8 or newer hides them.";

function notAllowed(output: string): string {
  const reason = output.trim().split("\n")[0]?.slice(0, 200) ?? "";
  return (
    `Applications share /tmp and see which processes run: this machine allows no mount namespaces (${reason}). ` +
    "Install util-linux and, in a container, add the capability SYS_ADMIN."
  );
}
