import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { type ExitCode, usage } from "../failure.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { serverField } from "./app-servers.ts";
import { addRunFlags, RUN_WORDS, type RunOptions, run, targetOf } from "./run.ts";
import { attachTo } from "./terminal.ts";

interface ExecFlags extends RunOptions {
  readonly interactive?: boolean;
  readonly tty?: boolean;
  readonly database?: string;
  readonly server?: string;
}

export function define(command: Command, bind: Bind): void {
  command
    .usage("[options] [app] [container] [-- <command...>]")
    .argument("[words...]", RUN_WORDS)
    .option("-t, --tty", "run it in a terminal; without a command, the container's shell is always in one")
    .option("-i, --interactive", "the same, as in -it")
    .option("--server <server>", "on this one of the application's servers, in a terminal (name or uuid)")
    .option("--database <database>", "in this database's container instead (name or uuid)");
  addRunFlags(command);
  command.action(bind(exec));
}

/** A terminal; without -it, a command runs as `berth run` runs it, which scripts use. */
async function exec(session: Session, words: readonly string[], options: ExecFlags): Promise<ExitCode> {
  const { ref, argv, ...named } = await placeOf(session, words, options);
  const isTerminal =
    options.tty === true || options.interactive === true || options.server !== undefined || ref.kind === "database";
  if (!isTerminal && argv.length > 0) return await run(session, words, options);
  for (const flag of ["detach", "timeout"]) {
    if (options[flag] !== undefined) throw usage(`--${flag} is for commands without a terminal.`, [WITHOUT]);
  }
  // The flag is made from a schema of text.
  const container = (options.container as string | undefined) ?? named.container;
  const [program, ...rest] = argv;
  const command = program === undefined ? undefined : ([program, ...rest] as [string, ...string[]]);
  const server =
    options.server === undefined ? {} : await serverField(await session.connect(), ref.uuid, options.server);
  return await attachTo(session, { ...ref, ...server, container, command }, [WITHOUT]);
}

const WITHOUT = "Run a command without a terminal: berth exec NAME -- COMMAND";

async function placeOf(session: Session, words: readonly string[], options: ExecFlags) {
  if (options.database === undefined) return await targetOf(session, words, options);
  const { uuid } = await namedResource(await session.connect(), "database", options.database);
  return { ref: { kind: "database", uuid } as const, container: undefined, argv: words };
}
