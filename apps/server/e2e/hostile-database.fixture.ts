import { TEST_CLIENTS, type TestClient, until } from "@berth/testing";
import { expect } from "vitest";
import type { Json, Tenant } from "./hostile.fixture.ts";

const RUN_DEADLINE_MS = 120_000;
/** PostgreSQL cuts longer names, and two could become one. */
const NAME_BYTES_MAX = 50;
const DATABASES_EVERY = 16;

const cut = (value: string): string => Buffer.from(value).subarray(0, NAME_BYTES_MAX).toString().replace("\ufffd", "");
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** A script for PostgreSQL: each value is a row, a table, and some are databases and roles. */
export function hostileScript(values: readonly string[]): string {
  const rows = values.map((value, at) => `INSERT INTO notes VALUES (${at}, ${literal(value)});`);
  const tables = values.map((value, at) => `CREATE TABLE ${quoted(`${cut(value)} ${at}`)} AS SELECT 1 AS kept;`);
  const others = values
    // Its own programs refuse to save databases and roles with such names.
    .filter((value, at) => at % DATABASES_EVERY === 0 && !/[\r\n]/.test(value))
    .flatMap((value) => [`CREATE DATABASE ${quoted(cut(value))};`, `CREATE ROLE ${quoted(`${cut(value)} role`)};`]);
  return ["CREATE TABLE notes (at int, what text);", ...rows, ...tables, ...others, ""].join("\n");
}

/** The rows, and how many tables there are. */
const NOTES = `SELECT json_build_object('notes', (SELECT json_agg(what ORDER BY at) FROM notes),
  'tables', (SELECT count(*) FROM pg_tables WHERE schemaname = 'public'))`;

/** @param url That the API gave out, with a password that it took. */
export const notesArgv = (url: string): readonly string[] => [
  ...["psql", url, "--no-psqlrc", "--no-align", "--tuples-only", `--command=${NOTES}`],
];

/** Output of `notesArgv` if the script ran completely. */
export const keptNotes = (values: readonly string[]): Json => ({ notes: values, tables: values.length + 1 });

export interface BackupRun {
  readonly uuid: string;
  readonly status: string;
  readonly message: string | null;
}

/** Backups of a database, and what is restored from them. @param path Of the database. */
export function backupCalls(tenant: () => Tenant, path: string) {
  const endedAll = async <T extends BackupRun>(read: () => Promise<readonly T[]>): Promise<readonly T[]> => {
    const runs = await until(
      async () => {
        const all = await read();
        return all.length > 0 && all.every(({ status }) => status !== "running") ? all : undefined;
      },
      { seconds: RUN_DEADLINE_MS / 1000 },
    );
    for (const { message } of runs) expect(message ?? "").not.toContain("Berth's own");
    return runs;
  };
  return {
    /** Runs one at once. @returns How it ended; `undefined` when it was refused. */
    async run(settings: Json): Promise<(BackupRun & { readonly at: string }) | undefined> {
      const sent = { frequency: "yearly", backup_now: true, ...settings };
      const { status, body } = await tenant().ask("POST", `${path}/backups`, sent);
      if (status !== 201) return undefined;
      const at = `${path}/backups/${body.uuid}/executions`;
      const [ended] = await endedAll(
        async () => (await tenant().ask("GET", at)).body.executions as readonly BackupRun[],
      );
      if (ended === undefined) throw new Error("A backup that was asked for has no execution.");
      return { ...ended, at: `${at}/${ended.uuid}` };
    },
    /** Restores a backup, or tries it. */
    async restore(at: string, kind: "restore" | "drill"): Promise<BackupRun | undefined> {
      const { status, body } = await tenant().ask("POST", `${at}/${kind}`, kind === "restore" ? {} : undefined);
      expect(status, JSON.stringify(body)).toBeLessThan(300);
      const found = async () => (await tenant().ask("GET", `${path}/restores/${body.uuid}`)).body;
      const [ended] = await endedAll(async () => [(await found()) as Json & BackupRun]);
      return ended;
    },
  };
}

/** Settings that make a start succeed or fail quickly. */
export const QUICK_START = { health_check_interval: 1, health_check_retries: 60, health_check_start_period: 0 };

interface HostileEngine {
  readonly client: TestClient;
  readonly passwords: readonly string[];
  /** Fields whose values mostly make a start fail. */
  readonly others: readonly string[];
}

export const HOSTILE_ENGINES: Readonly<Record<"postgresql" | "mariadb" | "redis", HostileEngine>> = {
  postgresql: {
    client: TEST_CLIENTS.postgresql,
    passwords: ["postgres_password"],
    others: ["postgres_initdb_args", "postgres_host_auth_method", "postgres_conf"],
  },
  mariadb: {
    client: TEST_CLIENTS.mariadb,
    passwords: ["mariadb_password", "mariadb_root_password"],
    others: ["mariadb_conf"],
  },
  redis: { client: TEST_CLIENTS.redis, passwords: ["redis_password"], others: ["redis_conf"] },
};
