import {
  type ScheduledTask,
  ScheduledTaskCreate,
  type ScheduledTaskExecution,
  ScheduledTaskUpdate,
} from "@berth/core/schedule";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import { ago, duration } from "../format.ts";
import { cell, type Output } from "../output.ts";
import { printable, printableLine } from "../printable.ts";
import { requireYes } from "../prompt.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface TaskOptions {
  readonly app?: string;
  readonly service?: string;
  readonly [flag: string]: unknown;
}

const FLAGS = flagsFor(ScheduledTaskCreate.omit({ name: true, frequency: true, command: true }));
const CHANGES = flagsFor(ScheduledTaskUpdate);

export function define(command: Command, bind: Bind): void {
  const of = (made: Command) =>
    made
      .option("--app <app>", "name or uuid; default: the application of this folder")
      .option("--service <service>", "of this service instead (name or uuid)");
  of(command.command("list", { isDefault: true }).description("List scheduled tasks.")).action(bind(list));
  const create = of(command.command("create").description("Create a scheduled task."))
    .argument("<name>")
    .argument("<frequency>", "a cron expression, or a word such as daily")
    .argument("<command>", "for the container's own shell: quote it");
  addFlags(create, FLAGS, "Of the task:");
  create.action(bind(createTask));
  const update = of(command.command("update").description("Change a scheduled task, or switch it off and on."));
  addFlags(update.argument("<task>", "name or uuid"), CHANGES, "Changed:");
  update.action(bind(updateTask));
  of(
    command.command("delete").alias("remove").description("Delete a scheduled task, with what its executions printed."),
  )
    .argument("<task>", "name or uuid")
    .option("--yes", "do not ask")
    .action(bind(deleteTask));
  of(command.command("run").description("Run a scheduled task now, and show what it prints."))
    .argument("<task>", "name or uuid")
    .option("-d, --detach", "do not wait for its end")
    .action(bind(run));
  of(command.command("executions").description("List the executions of a scheduled task, the newest first."))
    .argument("<task>", "name or uuid")
    .action(bind(executions));
  of(command.command("logs").description("Show what an execution printed."))
    .argument("<task>", "name or uuid")
    .argument("[execution]", "its uuid; default: the newest")
    .option("-f, --follow", "keep printing until it has ended")
    .action(bind(logs));
}

/** Tasks of the selected application or service. */
export async function tasksOf(session: Session, { app, service }: Pick<TaskOptions, "app" | "service">) {
  const api = await session.connect();
  if (service !== undefined) {
    const { uuid } = await namedResource(api, "service", service);
    return { uuid, tasks: api.client.services.scheduledTasks };
  }
  const { uuid } = await targetApplication(api, session.system, app);
  // The operations of both kinds have the same types.
  const tasks = api.client.applications.scheduledTasks as unknown as Api["client"]["services"]["scheduledTasks"];
  return { uuid, tasks };
}
type Owner = Awaited<ReturnType<typeof tasksOf>>;

async function taskOf(session: Session, wanted: string, options: TaskOptions) {
  const owner = await tasksOf(session, options);
  const all = await owner.tasks.list.query({ uuid: owner.uuid });
  const describe = ({ frequency }: ScheduledTask) => printable(frequency);
  return { ...owner, task: choose(wanted, all, { thing: "scheduled task", describe }) };
}

async function list(session: Session, options: TaskOptions): Promise<void> {
  const { output } = session;
  const { uuid, tasks } = await tasksOf(session, options);
  const all = await tasks.list.query({ uuid });
  output.show(all, () => {
    if (all.length === 0) return output.line("No scheduled tasks yet.");
    const isOfService = options.service !== undefined;
    const rows = all.map((task) => [
      cell(task.name),
      cell(task.frequency),
      task.enabled ? "yes" : output.colors.dim("no"),
      ...(isOfService ? [cell(task.container)] : []),
      cell(task.command),
      task.uuid,
    ]);
    const container = isOfService ? ["CONTAINER"] : [];
    output.table(["NAME", "FREQUENCY", "ENABLED", ...container, "COMMAND", "UUID"], rows);
  });
}

async function createTask(
  session: Session,
  name: string,
  frequency: string,
  command: string,
  options: TaskOptions,
): Promise<void> {
  const { uuid, tasks } = await tasksOf(session, options);
  const made = await tasks.create.mutate({ uuid, name, frequency, command, ...valuesOf(FLAGS, options) });
  session.output.show(made, () => session.output.line(`Created ${printable(made.name)} (${made.uuid}).`));
}

async function updateTask(session: Session, wanted: string, options: TaskOptions): Promise<void> {
  const { output } = session;
  const changes = valuesOf(CHANGES, options);
  const keys = Object.keys(changes);
  if (keys.length === 0) throw usage("Nothing to change.", ["The flags: berth scheduled-tasks update --help"]);
  const { uuid, tasks, task } = await taskOf(session, wanted, options);
  const changed = await tasks.update.mutate({ uuid, task_uuid: task.uuid, ...changes });
  output.show(changed, () => output.line(`${printable(task.name)}: changed ${keys.join(", ")}.`));
}

async function deleteTask(session: Session, wanted: string, options: TaskOptions): Promise<void> {
  const { output, system } = session;
  if (options.yes !== true && !system.stdin.isTTY) throw usage("Delete a scheduled task: confirm it with --yes.");
  const { uuid, tasks, task } = await taskOf(session, wanted, options);
  if (options.yes !== true) {
    output.line(`This deletes the scheduled task ${printable(task.name)}. This cannot be undone.`);
    await requireYes(system);
  }
  const answer = await tasks.delete.mutate({ uuid, task_uuid: task.uuid });
  output.show(answer, () => output.line(printable(answer.message)));
}

async function run(session: Session, wanted: string, options: TaskOptions): Promise<ExitCode> {
  const { output } = session;
  const { uuid, tasks, task } = await taskOf(session, wanted, options);
  const started = await tasks.run.mutate({ uuid, task_uuid: task.uuid });
  if (options.detach !== true) return follow(session, { uuid, tasks }, task, started.execution_uuid);
  output.show(started, () => {
    output.line(`${printable(task.name)} runs as ${started.execution_uuid}.`);
    output.line(`Its output: berth scheduled-tasks logs -f ${task.uuid}`);
  });
  return EXIT.ok;
}

async function executions(session: Session, wanted: string, options: TaskOptions): Promise<void> {
  const { output } = session;
  const { uuid, tasks, task } = await taskOf(session, wanted, options);
  const all = await tasks.executions.query({ uuid, task_uuid: task.uuid });
  const now = new Date();
  output.show(all, () => {
    if (all.length === 0) return output.line(`${printable(task.name)} has not run yet.`);
    const rows = all.map((one) => [
      statusText(one, output),
      ago(one.started_at, now),
      one.duration === null ? "-" : duration(Number(one.duration) * 1000),
      one.due_at === null ? "by hand" : "on a schedule",
      cell(one.error_details),
      one.uuid,
    ]);
    output.table(["STATUS", "STARTED", "TOOK", "BEGUN", "PROBLEM", "UUID"], rows);
  });
}

async function logs(
  session: Session,
  wanted: string,
  execution: string | undefined,
  options: TaskOptions,
): Promise<ExitCode> {
  const { output } = session;
  const { uuid, tasks, task } = await taskOf(session, wanted, options);
  const [newest] = execution === undefined ? await tasks.executions.query({ uuid, task_uuid: task.uuid, take: 1 }) : [];
  const chosen = execution ?? newest?.uuid;
  if (chosen === undefined) {
    output.warn(`${printable(task.name)} has not run yet.`);
    return EXIT.ok;
  }
  if (options.follow === true) return follow(session, { uuid, tasks }, task, chosen);
  const found = await tasks.execution.query({ uuid, task_uuid: task.uuid, task_execution_uuid: chosen });
  output.show(found, () => {
    showNewLines(output, found.message, 0);
    sayEnd(output, found);
  });
  return EXIT.ok;
}

/**
 * Prints an execution's output until it has ended. Ctrl-C stops following, not the task.
 * @returns `undefined` after Ctrl-C
 */
export function followExecution(
  session: Session,
  { uuid, tasks }: Owner,
  task: ScheduledTask,
  execution: string,
): Promise<ScheduledTaskExecution | undefined> {
  const { output } = session;
  const query = { uuid, task_uuid: task.uuid, task_execution_uuid: execution };
  let shown = 0;
  return pollUntilEnded(session, async () => {
    const found = await tasks.execution.query(query);
    if (!output.isJson) shown = showNewLines(output, found.message, shown);
    return found.status === "running" ? undefined : found;
  });
}

async function follow(session: Session, owner: Owner, task: ScheduledTask, execution: string): Promise<ExitCode> {
  const { output } = session;
  const ended = await followExecution(session, owner, task, execution);
  if (ended === undefined) return EXIT.interrupted;
  output.show(ended, () => sayEnd(output, ended));
  return ended.status === "success" ? EXIT.ok : EXIT.failed;
}

/** Output is only ever appended. @returns The number of lines shown so far. */
function showNewLines(output: Output, text: string | null, shown: number): number {
  const lines = text === null || text === "" ? [] : text.split("\n");
  for (const line of lines.slice(shown)) output.line(printableLine(line, output.colors.isColorSupported));
  return lines.length;
}

function sayEnd(output: Output, { status, duration: seconds, error_details }: ScheduledTaskExecution): void {
  if (status === "failed") output.warn(`Failed. ${printable(error_details ?? "")}`.trimEnd());
  else if (status === "success") output.line(output.colors.dim(`Done in ${duration(Number(seconds) * 1000)}.`));
}

function statusText({ status }: ScheduledTaskExecution, { colors }: Output): string {
  if (status === "success") return colors.green(status);
  return status === "failed" ? colors.red(status) : colors.cyan(status);
}
