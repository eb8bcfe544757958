import { DomainError, isDomainError } from "@berth/core";
import pg from "pg";
import { databaseErrorCode } from "./errors.ts";

export interface DatabaseTarget {
  readonly config: pg.ClientConfig;
  readonly user: string;
  readonly database: string;
  /** For people: never contains the password. */
  readonly place: string;
}

const EXAMPLE = "e.g. postgres://berth:secret@localhost:5432/berth";

/** @throws DomainError `setup.failed` */
export function parseDatabaseUrl(url: string): DatabaseTarget {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new DomainError(
      "setup.failed",
      `BERTH_DATABASE_URL does not begin with postgres://. Write it as an address, ${EXAMPLE}.`,
    );
  }
  try {
    const config = { connectionString: url };
    // The driver parses the address; this client never connects.
    const { host, port, user = "the user", database = "" } = new pg.Client(config);
    return { config, user, database, place: host.startsWith("/") ? host : `${host}:${port}` };
  } catch (cause) {
    // The parser's message may contain the address, and therefore the password.
    throw new DomainError(
      "setup.failed",
      `BERTH_DATABASE_URL cannot be read as an address. Percent-encode special characters of the password, ${EXAMPLE}.`,
      { cause },
    );
  }
}

/** The problem of a connection and its remedy, as one sentence. */
export function connectionProblem(error: unknown, { user, database, place }: DatabaseTarget): DomainError {
  const code = isPasswordMissing(error) ? "28P01" : (databaseErrorCode(error) ?? "");
  const sentence =
    {
      ENOTFOUND: `The host of BERTH_DATABASE_URL, ${place}, is unknown. Check its name.`,
      EAI_AGAIN: `The host of BERTH_DATABASE_URL, ${place}, cannot be looked up. Check its name and this machine's DNS.`,
      ECONNREFUSED: `No PostgreSQL listens at ${place} of BERTH_DATABASE_URL. Start it, or correct host and port.`,
      ENOENT: `No PostgreSQL listens in ${place} of BERTH_DATABASE_URL. Start it, or correct the folder of its socket.`,
      "28P01": `PostgreSQL at ${place} refuses the password of ${user}, or it has none. Correct BERTH_DATABASE_URL.`,
      "28000": `PostgreSQL at ${place} does not allow ${user} to connect from here. Create the role, or allow it in pg_hba.conf.`,
      "3D000": `The database ${database} does not exist at ${place}. Create it, or correct BERTH_DATABASE_URL.`,
      "53300": `PostgreSQL at ${place} has no connection left. Raise its max_connections.`,
      "57P03": `PostgreSQL at ${place} is starting or stopping. Try again in a moment.`,
    }[code] ??
    `PostgreSQL at ${place} of BERTH_DATABASE_URL cannot be reached${code === "" ? "" : ` (${code})`}. Check host, port and firewall.`;
  return new DomainError("setup.failed", sentence, { cause: error });
}

const VERSION_MIN = 15; // the oldest tested version; nothing needs a newer one

/** @param version From `server_version_num`: 150004 is 15.4. */
export function versionProblem(version: number, { place }: DatabaseTarget): DomainError | undefined {
  const major = Math.floor(version / 10_000);
  if (major >= VERSION_MIN) return undefined;
  return new DomainError(
    "setup.failed",
    `PostgreSQL at ${place} is version ${major}, and Berth needs ${VERSION_MIN} or newer. Upgrade it, or use another one.`,
  );
}

// The driver has no code for this error.
const isPasswordMissing = (error: unknown): boolean =>
  isDomainError(error) ? isPasswordMissing(error.cause) : /client password must be a/.test(String(error));
