import {
  BackupCreate,
  type BackupExecution,
  type BackupScheduleDetails,
  type BackupStatus,
  isBackupRunOver,
} from "@berth/core/backup";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import { followRun } from "../follow/run.ts";
import { ago, bytes, duration } from "../format.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { cancel } from "./backup-cancel.ts";
import { copyLocations, newProgress, progressText, type ShownProgress, savedName } from "./backup-execution.ts";
import { drill, restore } from "./backup-restore.ts";
import {
  chosenBackup,
  executionParameters,
  executionsOf,
  type ListedExecution,
  type Saved,
  schedulesOf,
} from "./saved-backups.ts";

const DATABASE = ["<database>", "name or uuid"] as const;
const BACKUP = ["[backup]", "its uuid; default: the newest good one"] as const;
const FLAGS = flagsFor(BackupCreate.omit({ frequency: true }));

export function define(command: Command, bind: Bind): void {
  command
    .command("list", { isDefault: true })
    .description("List the backups of a database, the newest first.")
    .argument(...DATABASE)
    .action(bind(list));
  const schedule = command
    .command("schedule")
    .description("Schedule backups of a database.")
    .argument(...DATABASE)
    .argument("<frequency>", "a cron expression, or a word such as daily");
  addFlags(schedule, FLAGS, "Of the schedule:");
  schedule.action(bind(createSchedule));
  command
    .command("unschedule")
    .description("Stop scheduled backups of a database. Those that were made stay.")
    .argument(...DATABASE)
    .option("--schedule <uuid>", "the schedule, if there are several")
    .action(bind(unschedule));
  command
    .command("run")
    .description("Back up a database now, with the settings of one of its schedules, and wait until it has ended.")
    .argument(...DATABASE)
    .option("--schedule <uuid>", "the schedule, if there are several")
    .option("-d, --detach", "do not wait")
    .action(bind(run));
  command
    .command("restore")
    .description("Restore a backup, and wait until it has ended. It replaces the current content.")
    .argument(...DATABASE)
    .argument(...BACKUP)
    .option("--to <database>", "into another database of the same engine (name or uuid)")
    .option("--database-name <name>", "database inside of it; default: the one of the same name")
    .option("--yes", "do not ask")
    .action(bind(restore));
  command
    .command("drill")
    .description("Verify a backup: restore it into a temporary database, and count its rows.")
    .argument(...DATABASE)
    .argument(...BACKUP)
    .action(bind(drill));
  command
    .command("download")
    .description("Download a backup to a file, as it was saved. It contains everything that the database contains.")
    .argument(...DATABASE)
    .argument(...BACKUP)
    .option("-o, --output <file>", "the file, or - for standard output; default: its name, in the current folder")
    .action(bind(download));
  command
    .command("cancel")
    .description("Cancel a running backup, restore or drill, and show what remains of it.")
    .argument(...DATABASE)
    .argument("[run]", "its uuid; default: the only one that is running")
    .action(bind(cancel));
}

async function list(session: Session, wanted: string): Promise<void> {
  const { output } = session;
  const { name, schedules } = await schedulesOf(session, wanted);
  output.show(schedules, () => {
    if (schedules.length === 0) return output.line(notSaved(name));
    for (const schedule of schedules) output.line(`${scheduleText(schedule)}  ${output.colors.dim(schedule.uuid)}`);
    const executions = executionsOf(schedules);
    if (executions.length === 0) return output.line(`None was made yet. Make one with: berth backup run ${name}`);
    const now = new Date();
    output.table(
      ["STATUS", "MADE", "DATABASE", "SIZE", "TOOK", "KEPT", "PROBLEM", "UUID"],
      executions.map((execution) => row(execution, output, now)),
    );
  });
}

/** A single backup has a schedule that is switched off, whose frequency nobody chose. */
function scheduleText({ frequency, enabled, save_s3 }: BackupScheduleDetails): string {
  const where = save_s3 ? ", to S3 too" : "";
  return enabled ? `Saved ${printable(frequency)}${where}` : `Not scheduled: saved on request${where}`;
}

const notSaved = (name: string) =>
  `${name} is not backed up. Make a schedule with: berth backup schedule ${name} daily`;

const row = (execution: ListedExecution, { colors }: Output, now: Date): readonly string[] => [
  colors[STATUS_COLORS[execution.status]](STATUS_TEXTS[execution.status] ?? execution.status),
  ago(execution.created_at, now),
  execution.database_name === null && execution.dump_all ? "all" : cell(execution.database_name),
  sizeOf(execution),
  execution.duration === null ? "-" : duration(execution.duration * 1000),
  placesOf(execution),
  cell(execution.message),
  execution.uuid,
];

const STATUS_COLORS = { success: "green", failed: "red", running: "cyan", "cancelled-by-user": "yellow" } as const;
const STATUS_TEXTS: Partial<Record<BackupStatus, string>> = { "cancelled-by-user": "cancelled" };
const placesOf = (execution: BackupExecution): string => copyLocations(execution).join(", ") || "-";

/** Size, so far for a running backup. */
function sizeOf({ status, size, written_bytes }: BackupExecution): string {
  if (size !== null) return bytes(Number(size));
  return status === "running" && written_bytes !== null ? bytes(written_bytes) : "-";
}

async function createSchedule(
  session: Session,
  wanted: string,
  frequency: string,
  options: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { output } = session;
  const { api, uuid, name, schedules } = await schedulesOf(session, wanted);
  const sent = valuesOf(FLAGS, options);
  const { s3_storage_uuid: storage } = sent;
  if (typeof storage === "string") {
    const storages = await api.client.s3Storages.list.query({});
    sent.s3_storage_uuid = choose(storage, storages, { thing: "S3 storage" }).uuid;
  }
  const same = schedules.find((schedule) => schedule.enabled && isSame(schedule, { frequency, ...sent }));
  if (same !== undefined) {
    throw usage(`${name} is backed up ${printable(frequency)} already (${same.uuid}).`, [
      `Stop that with: berth backup unschedule ${name}`,
      `Back it up now with: berth backup run ${name}`,
    ]);
  }
  const made = await api.client.databases.backups.create.mutate({ uuid, frequency, ...sent });
  output.show(made, () => {
    output.line(`${name} is backed up ${printable(frequency)} from now on (${made.uuid}).`);
    const others = schedules.filter(({ enabled }) => enabled).map((schedule) => printable(schedule.frequency));
    if (others.length > 0) {
      output.line(`Its other schedules continue: ${others.join(", ")}. List them with: berth backup list ${name}`);
    }
    if (sent.backup_now !== true) output.line(`Back it up now with: berth backup run ${name}`);
  });
}

/** Whether a schedule has what is asked for. What is not asked for is its own matter. */
const isSame = (schedule: BackupScheduleDetails, sent: Readonly<Record<string, unknown>>): boolean => {
  const current = new Map<string, unknown>(Object.entries(schedule));
  return Object.entries(sent).every(([key, value]) => current.get(key) === value);
};

/** The schedule stays with its backups, which would be deleted with it. */
async function unschedule(session: Session, wanted: string, options: { readonly schedule?: string }): Promise<void> {
  const { output } = session;
  const saved = await schedulesOf(session, wanted);
  const { api, uuid, name, schedules } = saved;
  const enabled = schedules.filter((schedule) => schedule.enabled);
  if (enabled.length === 0) throw usage(`${name} has no schedule that makes backups.`);
  const schedule = oneSchedule({ ...saved, schedules: enabled }, options.schedule);
  const asked = { uuid, scheduled_backup_uuid: schedule.uuid, enabled: false };
  const answer = await api.client.databases.backups.update.mutate(asked);
  output.show(answer, () => {
    output.line(`${name} is no longer backed up ${printable(schedule.frequency)}.`);
    output.line(`Its backups stay: berth backup list ${name}`);
  });
}

interface RunOptions {
  readonly schedule?: string;
  readonly detach?: boolean;
}

async function run(session: Session, wanted: string, options: RunOptions): Promise<ExitCode> {
  const { output } = session;
  const found = await schedulesOf(session, wanted);
  const saved = found.schedules.length > 0 ? found : await withSchedule(session, found);
  const { api, uuid, name } = saved;
  const schedule = oneSchedule(saved, options.schedule);
  const known = new Set(schedule.executions.map((execution) => execution.uuid));
  const asked = { uuid, scheduled_backup_uuid: schedule.uuid, backup_now: true };
  const answer = await api.client.databases.backups.update.mutate(asked);
  if (options.detach) {
    output.show(answer, () => output.line(`Requested. Check with: berth backup list ${name}`));
    return EXIT.ok;
  }
  // One for each of its databases, which are recorded together.
  const made = await pollUntilEnded(session, async () => {
    const schedules = await api.client.databases.backups.list.query({ uuid });
    const fresh = executionsOf(schedules).filter(
      (each) => each.scheduled_backup_uuid === schedule.uuid && !known.has(each.uuid),
    );
    return fresh.length > 0 ? fresh.toSorted((a, b) => a.id - b.id) : undefined;
  });
  const ended = made && (await followBackups(session, saved, made));
  if (ended === undefined) {
    output.line(`\nStill running. Check with: berth backup list ${name}`);
    output.line(`Cancel it with: berth backup cancel ${name}`);
    return EXIT.interrupted;
  }
  output.show(ended, () => {
    for (const execution of ended) sayBackup(output, execution);
  });
  return ended.every(({ status }) => status === "success") ? EXIT.ok : EXIT.failed;
}

/** They run one after the other. @returns `undefined` after Ctrl-C */
async function followBackups(
  session: Session,
  { api, uuid }: Saved,
  made: readonly ListedExecution[],
): Promise<readonly ListedExecution[] | undefined> {
  const ended: ListedExecution[] = [];
  for (const execution of made) {
    const parameters = executionParameters(uuid, execution);
    let shown: ShownProgress | undefined;
    const last = await followRun(session, {
      subscribe: (handlers) => api.client.databases.backups.followExecution.subscribe(parameters, handlers),
      isOver: isBackupRunOver,
      show(now: BackupExecution) {
        const progress = newProgress(shown, now);
        if (progress === undefined) return;
        shown = progress;
        session.output.line(session.output.colors.dim(`${savedName(now.database_name)}: ${progressText(progress)}`));
      },
    });
    if (last === undefined) return undefined;
    ended.push({ ...execution, ...last });
  }
  return ended;
}

/**
 * A backup belongs to a schedule, which defines where it is stored. The new schedule is disabled: it runs on request
 * only.
 */
async function withSchedule({ output }: Session, saved: Saved): Promise<Saved> {
  const { api, uuid, name } = saved;
  await api.client.databases.backups.create.mutate({ uuid, frequency: "daily", enabled: false });
  output.line(`${name} has no schedule. Backing it up once, on its server.`);
  output.line(`Schedule backups with: berth backup schedule ${name} daily`);
  return { ...saved, schedules: await api.client.databases.backups.list.query({ uuid }) };
}

function oneSchedule({ name, schedules }: Saved, wanted: string | undefined): BackupScheduleDetails {
  if (wanted !== undefined) {
    return choose(wanted, schedules.map(named), { thing: "backup schedule" });
  }
  // Disabled schedules come from single backups, and are ignored when there is an enabled one.
  const enabled = schedules.filter((schedule) => schedule.enabled);
  const [only, ...others] = enabled.length > 0 ? enabled : schedules;
  if (only === undefined) throw new Failure(notSaved(name));
  if (others.length === 0) return only;
  throw usage(`${name} has ${schedules.length} schedules. Choose one with --schedule:`, [
    ...schedules.map(({ uuid, frequency }) => `${uuid}  ${printable(frequency)}`),
  ]);
}
const named = (schedule: BackupScheduleDetails) => ({ ...schedule, name: schedule.frequency });

function sayBackup(output: Output, execution: BackupExecution): void {
  const { status, message, checksum, duration: seconds } = execution;
  const name = savedName(execution.database_name);
  if (status === "cancelled-by-user") {
    output.warn(`The backup of ${name} was cancelled.`);
    return;
  }
  if (status !== "success") {
    output.warn(`The backup of ${name} failed. ${printable(message ?? "")}`.trimEnd());
    return;
  }
  output.line(
    output.colors.green(
      `Saved ${name}: ${sizeOf(execution)} in ${duration((seconds ?? 0) * 1000)}, ${placesOf(execution)}.`,
    ),
  );
  output.line(`  sha256  ${checksum ?? "-"}`);
  output.line(`  backup  ${execution.uuid}`);
}

async function download(
  session: Session,
  wanted: string,
  backup: string | undefined,
  options: { readonly output?: string },
): Promise<ExitCode> {
  const saved = await schedulesOf(session, wanted);
  const { downloadBackup } = await import("./backup-download.ts");
  return downloadBackup(session, saved, chosenBackup(saved, backup), options.output);
}
