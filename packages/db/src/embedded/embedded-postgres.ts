import { chmod, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findBinaries } from "./binaries.ts";
import { clusterFolder } from "./cluster.ts";
import { databaseOwner, requireReach } from "./owner.ts";
import { connectionTo, type Postmaster, startPostmaster, stopPostmaster } from "./postmaster.ts";

export interface EmbeddedPostgresOptions {
  /** Holds the database and nothing else. */
  readonly folder: string;
  /** Where a copy of the programs goes when the database's user cannot run the installed ones. */
  readonly runtimeFolder: string;
  readonly onNotice?: ((line: string) => void) | undefined;
  /** Names the socket, and is the TCP port with `isOnLoopback`. */
  readonly port?: number;
  /** Also listen on 127.0.0.1, with a password: `alter role berth password` sets it. */
  readonly isOnLoopback?: boolean;
  /** For data that lives for minutes and may be lost with the machine's power, e.g. a test's. */
  readonly isTemporary?: boolean;
  readonly connectionsMax?: number;
}

export interface EmbeddedPostgres {
  /** For the driver; holds as long as this object, also when the server had to be started again. */
  readonly connection: ReturnType<typeof connectionTo>;
  /** The server's process. */
  pid(): number;
  /** Brings it back when it has died. */
  ensureRunning(): Promise<void>;
  stop(): Promise<void>;
}

const PORT = 5432; // as everywhere: it only names the socket

/**
 * Starts PostgreSQL from the registry's programs on a folder, or takes over the one that runs there.
 *
 * @returns `undefined` when its programs do not run on this machine.
 * @throws DomainError `setup.failed`
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres | undefined> {
  const owner = await databaseOwner(options.onNotice ?? (() => undefined));
  if (owner === undefined) return undefined;
  if (owner.ids !== undefined) await letThrough(dirname(options.folder));
  await requireReach(owner, options.folder);
  const binaries = await findBinaries(owner, options.runtimeFolder);
  if (binaries === undefined) return undefined;
  const setup = {
    folder: clusterFolder(options.folder),
    owner,
    binaries,
    settings: {
      port: options.port ?? PORT,
      isOnLoopback: options.isOnLoopback ?? false,
      isTemporary: options.isTemporary ?? false,
      connectionsMax: options.connectionsMax ?? 50,
    },
  };
  let server: Postmaster = await startPostmaster(setup);
  const connection = connectionTo(server);
  let starting: Promise<void> | undefined;
  let isStopped = false;

  async function restart(): Promise<void> {
    if (!isStopped) server = await startPostmaster(setup, connection.host);
  }
  return {
    connection,
    pid: () => server.pid,
    ensureRunning() {
      starting ??= restart().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    async stop() {
      isStopped = true;
      await starting?.catch(() => undefined);
      await stopPostmaster(server);
      if (connection.host !== options.folder) await rm(connection.host, { recursive: true, force: true });
    },
  };
}

/** The folder above is Berth's own: other users may pass through it, and see nothing in it. */
async function letThrough(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { mode } = await stat(folder);
  if ((mode & 0o011) !== 0o011) await chmod(folder, (mode & 0o7777) | 0o011);
}

/** The folder of the embedded database and of the copied programs in a data folder. */
export const embeddedFolders = (dataFolder: string) => ({
  folder: join(dataFolder, "database"),
  runtimeFolder: join(dataFolder, "runtime"),
});
