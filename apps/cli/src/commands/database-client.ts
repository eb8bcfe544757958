import { type DatabaseEngine, databaseType } from "@berth/core/database";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { printable, printableLine } from "../printable.ts";
import { readInput } from "../prompt.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { attachTo } from "./terminal.ts";

/** Engines by the names of their clients' programs. */
const CLIENTS: Readonly<Record<string, readonly DatabaseEngine[]>> = {
  psql: ["postgresql"],
  mysql: ["mysql", "mariadb"],
  mongosh: ["mongodb"],
  "clickhouse-client": ["clickhouse"],
  "redis-cli": ["redis", "keydb", "dragonfly"],
};

interface DatabaseClientOptions {
  readonly command?: string;
}

/** The clients that come with databases, inside of their containers. */
export function defineClients(group: Command, bind: Bind): void {
  for (const name of Object.keys(CLIENTS)) {
    group
      .command(name)
      .description(`Run ${name} in a database's container: in this terminal, or with what comes from standard input.`)
      .argument("<database>", "name or uuid")
      .option("-c, --command <text>", "run this, and end")
      .action(
        bind((session: Session, wanted: string, options: DatabaseClientOptions) => run(session, name, wanted, options)),
      );
  }
}

async function run(
  session: Session,
  name: string,
  wanted: string,
  { command }: DatabaseClientOptions,
): Promise<ExitCode> {
  const { system } = session;
  const api = await session.connect();
  const { uuid, name: called, database_type } = await namedResource(api, "database", wanted);
  const isOf = (engines: readonly DatabaseEngine[] = []) =>
    engines.some((engine) => databaseType(engine) === database_type);
  if (!isOf(CLIENTS[name])) {
    const own = Object.keys(CLIENTS).find((other) => isOf(CLIENTS[other]));
    throw usage(
      `${printable(called)} cannot be opened with ${name}.`,
      own ? [`Use: berth db ${own} ${printable(wanted)}`] : [],
    );
  }
  const instead = `Run one statement: berth db ${name} ${printable(called)} --command STATEMENT`;
  const statements = command ?? (system.stdin.isTTY ? undefined : await readInput(system));
  if (statements === undefined) return await attachTo(session, { kind: "database", uuid, client: true }, [instead]);
  if (statements.trim() === "")
    throw usage(`${name} needs a terminal, or statements.`, [
      instead,
      `Run those of a file: berth db ${name} ${printable(called)} <FILE`,
    ]);
  return await send(session, api, uuid, statements);
}

/** Prints the client's output, and returns its exit code. */
async function send({ output, system }: Session, api: Api, uuid: string, statements: string): Promise<ExitCode> {
  const answer = await api.client.databases.client.mutate({ uuid, statements });
  output.show(answer, () => {
    // Pipes get every byte; on a terminal, control characters are removed.
    system.stdout.write(system.stdout.isTTY ? shown(answer.output) : answer.output);
    if (answer.errors !== "") system.stderr.write(`${shown(answer.errors)}\n`);
    if (answer.is_truncated) output.warn("The output was longer; this is its beginning.");
  });
  return answer.exit_code === 0 ? EXIT.ok : EXIT.failed;
}

const shown = (text: string): string =>
  text
    .split("\n")
    .map((line) => printableLine(line, false))
    .join("\n");
