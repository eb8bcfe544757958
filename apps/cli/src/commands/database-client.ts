import { createInterface } from "node:readline/promises";
import { type DatabaseEngine, databaseType } from "@berth/core/database";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { printable, printableLine } from "../printable.ts";
import { readInput } from "../prompt.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";

interface Client {
  readonly engines: readonly DatabaseEngine[];
  /** Whether the text is a complete statement, or continues on the next line. */
  isComplete(text: string): boolean;
}

const isSqlComplete = (text: string): boolean => /;\s*$/.test(text) || /^\s*\\/.test(text);
const isLine = (): boolean => true;

/** Clients by the names of their programs. */
const CLIENTS: Readonly<Record<string, Client>> = {
  psql: { engines: ["postgresql"], isComplete: isSqlComplete },
  mysql: { engines: ["mysql", "mariadb"], isComplete: isSqlComplete },
  "clickhouse-client": { engines: ["clickhouse"], isComplete: isSqlComplete },
  "redis-cli": { engines: ["redis", "keydb", "dragonfly"], isComplete: isLine },
};

interface Options {
  readonly command?: string;
}

/** The clients that come with databases, inside of their containers. */
export function defineClients(group: Command, bind: Bind): void {
  for (const [name, client] of Object.entries(CLIENTS)) {
    group
      .command(name)
      .description(`Run ${name} in a database's container, with what is typed or comes from standard input.`)
      .argument("<database>", "name or uuid")
      .option("-c, --command <text>", "run this, and end")
      .action(
        bind((session: Session, wanted: string, options: Options) => run(session, [name, client], wanted, options)),
      );
  }
}

async function run(
  session: Session,
  [name, client]: readonly [string, Client],
  wanted: string,
  { command }: Options,
): Promise<ExitCode> {
  const { system } = session;
  const api = await session.connect();
  const { uuid, name: called, database_type } = await namedResource(api, "database", wanted);
  if (!client.engines.some((engine) => databaseType(engine) === database_type)) {
    const own = Object.entries(CLIENTS).find(([, { engines }]) =>
      engines.some((engine) => databaseType(engine) === database_type),
    );
    throw usage(`${printable(called)} cannot be opened with ${name}.`, own ? [`Use: berth db ${own[0]} ${uuid}`] : []);
  }
  if (command !== undefined) return await send(session, api, uuid, command);
  if (!system.stdin.isTTY) return await send(session, api, uuid, await readInput(system));
  return await converse(session, api, uuid, { name, client, called });
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

interface Conversation {
  readonly name: string;
  readonly client: Client;
  readonly called: string;
}

async function converse(
  session: Session,
  api: Api,
  uuid: string,
  { name, client, called }: Conversation,
): Promise<ExitCode> {
  const { system } = session;
  system.stderr.write(`${name} of ${printable(called)}. Each statement is a session of its own. Ctrl-D ends.\n`);
  const lines = createInterface({ input: system.stdin, output: system.stderr, terminal: true });
  let text = "";
  let exitCode: ExitCode = EXIT.ok;
  lines.setPrompt("> ");
  lines.prompt();
  for await (const line of lines) {
    text += `${line}\n`;
    if (/^\s*(\\q|exit|quit);?\s*$/i.test(text)) break;
    if (text.trim() !== "" && client.isComplete(text)) {
      exitCode = await send(session, api, uuid, text);
      text = "";
    }
    if (text.trim() === "") text = "";
    lines.setPrompt(text === "" ? "> " : "… ");
    lines.prompt();
  }
  lines.close();
  return exitCode;
}
