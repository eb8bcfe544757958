import { DomainError } from "@berth/core";
import { isDumpName } from "@berth/core/backup";
import type { DatabaseCommand } from "@berth/core/database";
import type { ReleaseRef } from "@berth/core/deploy";
import type { Engine, TableRows } from "@berth/core/ports";
import type { KnownDatabase } from "./known-database.ts";
import { type Command, interruptible } from "./program.ts";

/** Output of programs, redacted and shortened for a message. */
export const shownMessage = (message: string, redact: (text: string) => string): string =>
  redact(message)
    .split("\n")
    .map((line) => line.slice(0, LINE_LENGTH_MAX))
    .join("\n")
    .slice(0, MESSAGE_LENGTH_MAX)
    .toWellFormed();

const LINE_LENGTH_MAX = 1000;
const MESSAGE_LENGTH_MAX = 10_000;

/** A database's running release, and a function that runs programs in it. */
export interface LiveDatabase {
  readonly ref: ReleaseRef;
  readonly command: Command;
}

/** @param uuid Of the backup or restore. @throws DomainError `engine.unsupported` */
export function live(engine: Engine, ref: ReleaseRef, database: KnownDatabase, uuid: string): LiveDatabase {
  const { containers } = engine;
  if (containers === undefined) {
    throw new DomainError("engine.unsupported", "The engine of this server cannot run programs inside a database.");
  }
  return { ref, command: interruptible((...asked) => containers.command(...asked), database, uuid) };
}

/** @throws DomainError `deploy.command_failed` with the last output of the program */
export function requireSuccess(
  { argv: [program] }: DatabaseCommand,
  { exitCode, errors }: { readonly exitCode: number; readonly errors: readonly string[] },
  isProblem: (line: string) => boolean = () => false,
): void {
  const problems = errors.filter(isProblem);
  if (exitCode === 0 && problems.length === 0) return;
  const words = (problems.length > 0 ? problems : errors).filter((line) => line.trim() !== "").slice(-LAST_WORDS);
  const end = exitCode === 0 ? "reported errors" : `exited with code ${exitCode}`;
  throw new DomainError("deploy.command_failed", [`${program} ${end}.`, ...words].join("\n"));
}

const LAST_WORDS = 8;

/** Row counts of every table in one database, or in all: table names then begin with the database's name. */
export async function countRows(
  { values, dumps }: KnownDatabase,
  { ref, command }: LiveDatabase,
  database: string | null,
  signal: AbortSignal,
): Promise<TableRows> {
  const read = async (asked: DatabaseCommand): Promise<readonly string[]> => {
    const chunks: Uint8Array[] = [];
    const result = await command(ref, asked, {
      signal,
      output: async (output) => {
        for await (const chunk of output) chunks.push(chunk);
      },
    });
    requireSuccess(asked, result);
    return Buffer.concat(chunks)
      .toString("utf8")
      .split("\n")
      .filter((line) => line !== "");
  };
  const count = async (name: string, prefix: string) =>
    (await read(dumps.countRows(values, name))).flatMap((line): [string, number][] => {
      const [table = "", rows = ""] = line.split("\t");
      return /^\d+$/.test(rows) ? [[`${prefix}${table}`, Number(rows)]] : [];
    });
  if (database !== null) return Object.fromEntries(await count(database, ""));
  const all: [string, number][] = [];
  for (const name of (await read(dumps.databases(values))).filter(isDumpName))
    all.push(...(await count(name, `${name}.`)));
  return Object.fromEntries(all);
}
