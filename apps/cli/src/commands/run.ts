import { CommandCreate, type Command as CommandRun } from "@berth/core/schedule";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { untilOver } from "../follow/poll.ts";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";
import { showNewLines } from "./scheduled-tasks.ts";

const FLAGS = flagsFor(CommandCreate.omit({ command: true }));

export function define(command: Command, bind: Bind): void {
  command
    .usage("[options] [app] -- <command...>")
    .argument("<words...>", "an application (default: the one of this folder), then the command and its arguments")
    .option("--app <app>", "name or uuid, where the command's first word is an application's name too")
    .option("--service <service>", "in this service instead (name or uuid)")
    .option("-d, --detach", "do not wait for its end");
  addFlags(command, FLAGS, "Of the command:");
  command.action(bind(run));
}

interface Options {
  readonly app?: string;
  readonly service?: string;
  readonly detach?: boolean;
  readonly [flag: string]: unknown;
}

async function run(session: Session, words: readonly string[], options: Options): Promise<ExitCode> {
  const { output } = session;
  const api = await session.connect();
  const { uuid, commands, argv } = await targetOf(api, session, words, options);
  if (argv.length === 0) throw usage("Which command? Write it behind the name: berth run APP -- COMMAND");
  const started = await commands.run.mutate({ uuid, ...valuesOf(FLAGS, options), command: scriptOf(argv) });
  const read = () => commands.get.query({ uuid, command_uuid: started.uuid });
  if (options.detach !== true) return follow(session, started, read);
  output.show(started, () => {
    output.line(`Runs as ${started.uuid}. Its output:`);
    output.line(
      `  berth ${options.service === undefined ? "applications" : "services"} commands get ${uuid} ${started.uuid}`,
    );
  });
  return EXIT.ok;
}

async function targetOf(api: Api, session: Session, words: readonly string[], { app, service }: Options) {
  const { applications, services } = api.client;
  if (service !== undefined) {
    const { uuid } = await namedResource(api, "service", service);
    return { uuid, commands: services.commands, argv: words };
  }
  // The operations of both kinds are one definition.
  const commands = applications.commands as unknown as typeof services.commands;
  const [first = "", ...rest] = words;
  const named = (await applications.list.query({})).filter(({ name, uuid }) => name === first || uuid === first);
  const isNamed = app === undefined && named.length > 0;
  const { uuid } = await targetApplication(api, session.system, isNamed ? first : app);
  return { uuid, commands, argv: isNamed ? rest : words };
}

/** One word may be a whole script; several reach the program as they are. */
const scriptOf = (argv: readonly string[]): string =>
  argv.length === 1 ? (argv[0] ?? "") : argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

/** Ctrl-C ends the following, not the command. @returns The command's own exit code */
async function follow(session: Session, { uuid }: CommandRun, read: () => Promise<CommandRun>): Promise<ExitCode> {
  const { output } = session;
  let shown = 0;
  const ended = await untilOver(session, async () => {
    const found = await read();
    if (!output.isJson) shown = showNewLines(output, found.output, shown);
    return found.status === "running" ? undefined : found;
  });
  if (ended === undefined) {
    output.warn(`It continues as ${uuid}.`);
    return EXIT.interrupted;
  }
  output.json(ended);
  if (ended.exit_code === null) output.warn(printable(ended.error_details ?? "It failed."));
  // What runs a program passes its exit code on, whatever it means.
  return (ended.exit_code ?? EXIT.failed) as ExitCode;
}
