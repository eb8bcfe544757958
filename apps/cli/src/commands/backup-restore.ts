import { isBackupRunOver, type Restore } from "@berth/core/backup";
import { matchingCandidates } from "../choose.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { followRun } from "../follow/run.ts";
import { ago, duration } from "../format.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import { requireYes } from "../prompt.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { savedName } from "./backup-execution.ts";
import { chosenBackup, executionParameters, type ListedExecution, type Saved, schedulesOf } from "./saved-backups.ts";

interface RestoreOptions {
  readonly to?: string;
  readonly databaseName?: string;
  readonly yes?: boolean;
}

export async function restore(
  session: Session,
  wanted: string,
  backup: string | undefined,
  options: RestoreOptions,
): Promise<ExitCode> {
  const saved = await schedulesOf(session, wanted);
  const { api, uuid } = saved;
  const chosen = chosenBackup(saved, backup);
  const target = options.to === undefined ? undefined : await restoreTarget(saved, options.to);
  const into = target === undefined ? saved.name : printable(target.name);
  if (!options.yes) await confirm(session, chosen, into);
  const asked = await api.client.databases.restores.restore.mutate({
    ...executionParameters(uuid, chosen),
    ...(target === undefined ? {} : { target_database_uuid: target.uuid }),
    ...(options.databaseName === undefined ? {} : { database_name: options.databaseName }),
  });
  return followRestore(session, api, { uuid, restore_uuid: asked.uuid }, `Restored into ${into}`);
}

/** @throws Failure that names the command by which an unknown one is created */
async function restoreTarget({ api, engine }: Saved, wanted: string) {
  const all = await api.client.databases.list.query({});
  if (matchingCandidates(wanted, all).length > 0) return await namedResource(api, "database", wanted);
  throw usage(`No database is called ${printable(wanted)}.`, [
    `Create it with: berth db create ${engine ?? "ENGINE"} ${printable(wanted)}`,
  ]);
}

async function confirm(
  { system, output }: Session,
  { created_at, database_name }: ListedExecution,
  into: string,
): Promise<void> {
  if (!system.stdin.isTTY) throw usage(`This replaces the content of ${into}. Confirm it with --yes.`);
  const backup = `the backup of ${savedName(database_name)}, made ${ago(created_at, new Date())}`;
  output.line(`This replaces the content of ${into} by ${backup}.`);
  await requireYes(system);
}

export async function drill(session: Session, wanted: string, backup: string | undefined): Promise<ExitCode> {
  const saved = await schedulesOf(session, wanted);
  const { api, uuid } = saved;
  const asked = await api.client.databases.restores.drill.mutate(
    executionParameters(uuid, chosenBackup(saved, backup)),
  );
  return followRestore(
    session,
    api,
    { uuid, restore_uuid: asked.uuid },
    "The backup is good: it was restored and counted",
  );
}

async function followRestore(
  session: Session,
  { client }: Api,
  query: { readonly uuid: string; readonly restore_uuid: string },
  done: string,
): Promise<ExitCode> {
  const { output } = session;
  let sent: string | undefined;
  const ended = await followRun(session, {
    subscribe: (handlers) => client.databases.restores.follow.subscribe(query, handlers),
    isOver: isBackupRunOver,
    show({ step }: Restore) {
      if (step !== null && step !== sent) output.line(output.colors.dim(step));
      sent = step ?? sent;
    },
  });
  if (ended === undefined) {
    output.line(`\nStill running. Check with: berth databases restores get ${query.uuid} ${query.restore_uuid}`);
    output.line(`Cancel it with: berth backup cancel ${query.uuid} ${query.restore_uuid}`);
    return EXIT.interrupted;
  }
  output.show(ended, () => sayRestore(output, ended, done));
  return ended.status === "success" ? EXIT.ok : EXIT.failed;
}

function sayRestore(output: Output, restored: Restore, done: string): void {
  const { status, message, tables, started_at, finished_at } = restored;
  const rows = (tables ?? []).map(({ name, rows: counted, expected_rows }) => [
    cell(name),
    counted === null ? "missing" : String(counted),
    expected_rows === null ? "-" : String(expected_rows),
  ]);
  if (rows.length > 0) output.table(["TABLE", "ROWS", "WHEN SAVED"], rows);
  if (status === "cancelled-by-user") {
    output.warn(printable(message ?? ""));
    return;
  }
  if (status !== "success") {
    output.warn(`Failed. ${printable(message ?? "")}`.trimEnd());
    return;
  }
  const took = Date.parse(finished_at ?? "") - Date.parse(started_at ?? "");
  output.line(output.colors.green(`${done} in ${duration(Number.isNaN(took) ? 0 : took)}.`));
  if (message !== null) output.warn(printable(message));
}
