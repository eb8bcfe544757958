import { accessSync, chmodSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";

/** Paths of all data outside the database. */
export interface DataFolder {
  readonly root: string;
  /** Folder of the embedded database. */
  readonly database: string;
  /** Releases, storages and logs of applications run by the process engine. */
  readonly apps: string;
  /** Repository mirrors, uploads and checkouts. */
  readonly sources: string;
  readonly proxy: string;
  /** Programs that users other than ours must be able to run. */
  readonly runtime: string;
  /** Key of all encrypted data. If it is lost, so are the secrets. */
  readonly keyFile: string;
  /** Address and token of this server, for the command line on this machine. */
  readonly cliFile: string;
  /** Uuid of the record of this machine. */
  readonly serverFile: string;
  /** Uuid of the record of this machine's Docker engine. */
  readonly dockerFile: string;
  /** Process id of the server, for `berth doctor` on this machine. */
  readonly pidFile: string;
  /** Report of the last crash. */
  readonly lastFailureFile: string;
  readonly backups: string;
  /** Files for connections to servers, such as sockets of their engines. */
  readonly servers: string;
  /** Build tools that were fetched. */
  readonly tools: string;
}

/** @throws DomainError `setup.failed` when the folder cannot be created or written. */
export function dataFolder(root: string): DataFolder {
  try {
    mkdirSync(root, { recursive: true });
    // Applications run as other users and must pass through to their own folder; all other folders are 0700.
    chmodSync(root, 0o711);
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const folder of ["sources"]) mkdirSync(join(root, folder), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DomainError(
      "setup.failed",
      `The data folder ${root} cannot be written. Make it writable for this user, or set BERTH_DATA to another folder.`,
      { cause },
    );
  }
  return {
    root,
    database: join(root, "database"),
    apps: join(root, "apps"),
    sources: join(root, "sources"),
    proxy: join(root, "proxy"),
    runtime: join(root, "runtime"),
    keyFile: join(root, "secret.key"),
    cliFile: join(root, "cli.json"),
    serverFile: join(root, "server.json"),
    dockerFile: join(root, "docker.json"),
    pidFile: join(root, "server.pid"),
    lastFailureFile: join(root, "last-failure.json"),
    backups: join(root, "backups"),
    servers: join(root, "servers"),
    tools: join(root, "tools"),
  };
}
