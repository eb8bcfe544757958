import { ScheduledTaskCreate } from "@berth/core/schedule";
import type { Command } from "commander";
import { wordsBeforeDashes } from "../argv.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { NOT_PASSED_ON, watchPipedInput } from "../piped-input.ts";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";
import { followExecution, tasksOf } from "./scheduled-tasks.ts";

const FLAGS = flagsFor(ScheduledTaskCreate.pick({ container: true, timeout: true }));

export function define(command: Command, bind: Bind): void {
  command.usage("[options] [app] [container] -- <command...>").argument("<words...>", RUN_WORDS);
  addRunFlags(command);
  command.action(bind(run));
}

/** What the words of `run` and `exec` are. */
export const RUN_WORDS =
  "an application or service (default: the application of this folder), one of its containers, then the command and its arguments";

/** The flags that `exec` has too. */
export function addRunFlags(command: Command): void {
  command
    .option("--app <app>", "name or uuid, where the command's first word is an application's name too")
    .option("--service <service>", "in this service instead (name or uuid)")
    .option("-d, --detach", "do not wait for its end");
  addFlags(command, FLAGS, "Of the command:");
}

export interface RunOptions {
  readonly app?: string;
  readonly service?: string;
  readonly detach?: boolean;
  readonly [flag: string]: unknown;
}

export async function run(session: Session, words: readonly string[], options: RunOptions): Promise<ExitCode> {
  const { output } = session;
  const input = watchPipedInput(session.system);
  const { ref, argv, ...named } = await targetOf(session, words, options);
  // The flag is made from a schema of text.
  const container = (options.container as string | undefined) ?? named.container;
  if (argv.length === 0) throw usage("Which command? Write it after the name: berth run APP -- COMMAND");
  const owner = await tasksOf(session, { [ref.kind === "service" ? "service" : "app"]: ref.uuid });
  const { uuid, tasks } = owner;
  if (container !== undefined && ref.kind === "application") await requireSeveral(session, uuid, container);
  await input.refuse();
  const command = scriptOf(argv);
  const asked = {
    ...{ timeout: TIMEOUT_SECONDS, ...valuesOf(FLAGS, options), ...(container === undefined ? {} : { container }) },
    ...{ ...NEVER_DUE, name: nameOf(command), command },
  };
  const task = await tasks.create.mutate({ uuid, ...asked });
  const place = { uuid, task_uuid: task.uuid };
  const { execution_uuid } = await tasks.run.mutate(place).catch(async (error: unknown) => {
    await tasks.delete.mutate(place);
    throw error;
  });
  if (options.detach === true) {
    output.show({ ...task, execution_uuid }, () => {
      output.line(`Runs as the scheduled task ${printable(task.name)} (${task.uuid}).`);
      const kind = options.service === undefined ? "app" : "service";
      output.line(`Its output: berth scheduled-tasks logs -f ${task.uuid} --${kind} ${uuid}`);
    });
    return EXIT.ok;
  }
  const ended = await followExecution(session, owner, task, execution_uuid);
  if (ended === undefined) {
    output.warn(`It continues as the scheduled task ${task.uuid}.`);
    return EXIT.interrupted;
  }
  await tasks.delete.mutate(place);
  output.json(ended);
  if (input.hasArrived()) output.warn(NOT_PASSED_ON);
  if (ended.exit_code === null) output.warn(printable(ended.error_details ?? "It failed."));
  // The program's exit code is passed on unchanged.
  return (ended.exit_code ?? EXIT.failed) as ExitCode;
}

/**
 * A scheduled task runs in a single container whatever its name, as in the API family; a person meant another one.
 * @throws Failure where the application's container has no name
 */
async function requireSeveral(session: Session, uuid: string, container: string): Promise<void> {
  const { client } = await session.connect();
  const running = await client.applications.containers.list.query({ uuid });
  if (running.length === 0 || running.some(({ name }) => name !== null)) return;
  throw usage(`The application has no container ${printable(container)}. It is a single one: leave out the name.`);
}

/** The API cannot run a single command: a disabled scheduled task is created, executed and deleted instead. */
const NEVER_DUE = { frequency: "daily", enabled: false } as const;
const TIMEOUT_SECONDS = 3600;

/** The task's name in lists. */
const nameOf = (command: string): string =>
  `run ${command
    .replaceAll(/[^A-Za-z0-9._-]+/g, " ")
    .trim()
    .slice(0, 40)}`.trim();

/** What a command runs in, and the command. */
export interface RunTarget {
  readonly ref: { readonly kind: "application" | "service"; readonly uuid: string };
  readonly container?: string | undefined;
  readonly argv: readonly string[];
}

/** The first word is the application or service if one has that name; one more before `--` is a container of it. */
export async function targetOf(
  session: Session,
  words: readonly string[],
  { app, service }: RunOptions,
): Promise<RunTarget> {
  const api = await session.connect();
  if (service !== undefined) {
    const { uuid } = await namedResource(api, "service", service);
    return { ref: { kind: "service", uuid }, ...withContainer(session, words) };
  }
  const [first = "", ...rest] = words;
  const isNamed = app === undefined && (await isApplication(session, first));
  const named = app === undefined && !isNamed ? await serviceNamed(session, first) : undefined;
  if (named !== undefined) return { ref: { kind: "service", uuid: named.uuid }, ...withContainer(session, rest) };
  const { uuid } = await targetApplication(api, session.system, isNamed ? first : app);
  const ref = { kind: "application", uuid } as const;
  if (isNamed) return { ref, ...withContainer(session, rest) };
  const own = withContainer(session, words);
  if (app === undefined && isNameBeforeDashes(session, words)) await requireContainer(api, uuid, first);
  return { ref, ...own };
}

/** Whether a name is before `--`, and a command after it. The dashes of `ls -- -l` belong to the command. */
function isNameBeforeDashes({ argv }: Session, words: readonly string[]): boolean {
  const before = wordsBeforeDashes(argv, words);
  return before.length > 0 && words[before.length]?.startsWith("-") === false;
}

/** Of what does not run, the server knows more. @throws Failure where what runs has no such container */
async function requireContainer({ client }: Api, uuid: string, name: string): Promise<void> {
  const running = await client.applications.containers.list.query({ uuid });
  // One of several of a service is called web-1, and all of them web.
  const isCalledSo = running.some((one) => one.name === name || one.name?.replace(/-\d+$/, "") === name);
  if (running.length === 0 || isCalledSo) return;
  const names = running.flatMap((container) => container.name ?? []).map(printable);
  throw usage(`No application or container is called ${printable(name)}.`, [
    names.length === 0
      ? "Leave out the name for the application of this folder: berth run -- COMMAND"
      : `The containers of this folder's application: ${names.join(", ")}`,
  ]);
}

/** `web -- ls` names the container web, while the dashes of `ls -- -l` belong to a command. */
function withContainer({ argv }: Session, words: readonly string[]): Pick<RunTarget, "container" | "argv"> {
  const [container, ...others] = wordsBeforeDashes(argv, words);
  const [, ...command] = words;
  const isContainer = others.length === 0 && command[0]?.startsWith("-") === false;
  return container !== undefined && isContainer ? { container, argv: command } : { argv: words };
}

async function isApplication(session: Session, word: string): Promise<boolean> {
  const { client } = await session.connect();
  return (await client.applications.list.query({})).some(({ name, uuid }) => name === word || uuid === word);
}

async function serviceNamed(session: Session, word: string) {
  const { client } = await session.connect();
  return (await client.services.list.query({})).find(({ name, uuid }) => name === word || uuid === word);
}

/** A single word may be a script; several words are quoted, so that the program gets them unchanged. */
const scriptOf = (argv: readonly string[]): string =>
  argv.length === 1 ? (argv[0] ?? "") : argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
