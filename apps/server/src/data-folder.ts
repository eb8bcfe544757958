import { accessSync, chmodSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";

/** Where everything lies that Berth keeps outside its database. */
export interface DataFolder {
  readonly root: string;
  /** The embedded database. */
  readonly database: string;
  /** Releases, storages and logs of applications run by the process engine. */
  readonly apps: string;
  /** Mirrors of repositories, uploads, checkouts. */
  readonly sources: string;
  readonly proxy: string;
  /** Programs that other users than ours must be able to run. */
  readonly runtime: string;
  /** Key of everything that is encrypted at rest. Losing it loses the secrets. */
  readonly keyFile: string;
  /** Address and token of this server, for the command line on this machine. */
  readonly cliFile: string;
  /** Which record stands for this machine. */
  readonly serverFile: string;
  /** Which record stands for this machine's Docker engine. */
  readonly dockerFile: string;
  /** Process id of the server, for `berth doctor` on this machine. */
  readonly pidFile: string;
  /** Report of the last unexpected end. */
  readonly lastFailureFile: string;
  readonly backups: string;
  /** Files for its servers, such as sockets to their engines. */
  readonly servers: string;
  /** Build tools that were fetched. */
  readonly tools: string;
}

/** @throws DomainError `setup.failed` when the folder cannot be made or written. */
export function dataFolder(root: string): DataFolder {
  try {
    mkdirSync(root, { recursive: true });
    // Applications run as users of their own and must pass through to their own folder; what is beside it is 0700.
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
