import { ScheduledTaskCreate, type ScheduledTaskExecution } from "@berth/core/schedule";
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

const FLAGS = flagsFor(ScheduledTaskCreate.pick({ container: true, timeout: true }));

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
  const { uuid, tasks, argv } = await targetOf(api, session, words, options);
  if (argv.length === 0) throw usage("Which command? Write it behind the name: berth run APP -- COMMAND");
  const command = scriptOf(argv);
  const asked = { timeout: TIMEOUT_SECONDS, ...valuesOf(FLAGS, options), ...NEVER_DUE, name: nameOf(command), command };
  const task = await tasks.create.mutate({ uuid, ...asked });
  const { execution_uuid } = await tasks.run.mutate({ uuid, task_uuid: task.uuid });
  if (options.detach === true) {
    output.show({ ...task, execution_uuid }, () => {
      output.line(`Runs as the scheduled task ${printable(task.name)} (${task.uuid}).`);
      const owner = options.service === undefined ? `--app ${uuid}` : `--service ${uuid}`;
      output.line(`Its output: berth scheduled-tasks logs -f ${task.uuid} ${owner}`);
    });
    return EXIT.ok;
  }
  const query = { uuid, task_uuid: task.uuid, task_execution_uuid: execution_uuid };
  const ended = await follow(session, () => tasks.execution.query(query));
  if (ended === undefined) {
    output.warn(`It continues as the scheduled task ${task.uuid}.`);
    return EXIT.interrupted;
  }
  await tasks.delete.mutate({ uuid, task_uuid: task.uuid });
  output.json(ended);
  if (ended.exit_code === null) output.warn(printable(ended.error_details ?? "It failed."));
  // What runs a program passes its exit code on, whatever it means.
  return (ended.exit_code ?? EXIT.failed) as ExitCode;
}

/** The API runs no commands of its own: one is run as a scheduled task that is never due, and is deleted afterwards. */
const NEVER_DUE = { frequency: "daily", enabled: false } as const;
const TIMEOUT_SECONDS = 3600;

/** As the list of tasks shows it. Names allow few characters. */
const nameOf = (command: string): string =>
  `run ${command
    .replaceAll(/[^A-Za-z0-9 ._-]+/g, " ")
    .trim()
    .slice(0, 40)}`.trim();

async function targetOf(api: Api, session: Session, words: readonly string[], { app, service }: Options) {
  const { applications, services } = api.client;
  if (service !== undefined) {
    const { uuid } = await namedResource(api, "service", service);
    return { uuid, tasks: services.scheduledTasks, argv: words };
  }
  // The operations of both kinds are one definition.
  const tasks = applications.scheduledTasks as unknown as typeof services.scheduledTasks;
  const [first = "", ...rest] = words;
  const named = (await applications.list.query({})).filter(({ name, uuid }) => name === first || uuid === first);
  const isNamed = app === undefined && named.length > 0;
  const { uuid } = await targetApplication(api, session.system, isNamed ? first : app);
  return { uuid, tasks, argv: isNamed ? rest : words };
}

/** One word may be a whole script; several reach the program as they are. */
const scriptOf = (argv: readonly string[]): string =>
  argv.length === 1 ? (argv[0] ?? "") : argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

/** Ctrl-C ends the following, not the command. @returns `undefined` after Ctrl-C */
async function follow(
  session: Session,
  read: () => Promise<ScheduledTaskExecution>,
): Promise<ScheduledTaskExecution | undefined> {
  const { output } = session;
  let shown = 0;
  return untilOver(session, async () => {
    const found = await read();
    if (!output.isJson) shown = showNewLines(output, found.message, shown);
    return found.status === "running" ? undefined : found;
  });
}
