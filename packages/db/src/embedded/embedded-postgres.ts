import { chmod, mkdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { findBinaries } from "./binaries.ts";
import { clusterFolder } from "./cluster.ts";
import { databaseOwner, requireReach } from "./owner.ts";
import { connectionTo, type Postmaster, startPostmaster, stopPostmaster } from "./postmaster.ts";

export interface EmbeddedPostgresOptions {
  /** Contains only the database. */
  readonly folder: string;
  /** Where the programs are copied to if the database's user cannot run the installed ones. */
  readonly runtimeFolder: string;
  readonly onNotice?: ((line: string) => void) | undefined;
  /** Part of the socket's name; with `isOnLoopback` also the TCP port. */
  readonly port?: number;
  /** Also listens on 127.0.0.1, with a password: `alter role berth password` sets it. */
  readonly isOnLoopback?: boolean;
  /** For short-lived data that may be lost in a power failure, e.g. of tests. */
  readonly isTemporary?: boolean;
  readonly connectionsMax?: number;
}

export interface EmbeddedPostgres {
  /** For the driver; stays valid when the server is restarted. */
  readonly connection: ReturnType<typeof connectionTo>;
  /** Process id of the server. */
  pid(): number;
  /** Restarts it if it has died. */
  ensureRunning(): Promise<void>;
  stop(): Promise<void>;
}

const PORT = 5432; // the default port: it only names the socket

/**
 * Starts PostgreSQL from the package's programs on a folder, or takes over a running server.
 *
 * @returns `undefined` if its programs do not run on this machine.
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

/** Lets other users pass through Berth's own folder to the database, without listing it. */
async function letThrough(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { mode } = await stat(folder);
  if ((mode & 0o011) !== 0o011) await chmod(folder, (mode & 0o7777) | 0o011);
}

/** Folders for the embedded database and for the copied programs within a data folder. */
export const embeddedFolders = (dataFolder: string) => ({
  folder: join(dataFolder, "database"),
  runtimeFolder: join(dataFolder, "runtime"),
});
