import type { BackupRunCancelled, BackupStatus } from "@berth/core/backup";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { executionParameters, executionsOf, type Saved, schedulesOf } from "./saved-backups.ts";

/** A backup, restore or drill of a database. */
interface CancellableRun {
  readonly uuid: string;
  readonly what: string;
  readonly status: BackupStatus;
  readonly step: string | null;
  cancel(): Promise<BackupRunCancelled>;
}

export async function cancel(session: Session, wanted: string, uuid: string | undefined): Promise<ExitCode> {
  const { output } = session;
  const saved = await schedulesOf(session, wanted);
  const answer = await chosen(saved.name, await runsOf(saved), uuid).cancel();
  output.show(answer, () => {
    output.line(answer.message);
    if (answer.detail !== null) output.line(printable(answer.detail));
  });
  return EXIT.ok;
}

async function runsOf({ api, uuid, schedules }: Saved): Promise<readonly CancellableRun[]> {
  const { backups, restores } = api.client.databases;
  const listed = await restores.list.query({ uuid });
  return [
    ...executionsOf(schedules).map((execution) => ({
      ...execution,
      what: "backup",
      cancel: () => backups.cancelExecution.mutate(executionParameters(uuid, execution)),
    })),
    ...listed.map((restore) => ({
      ...restore,
      what: restore.kind,
      cancel: () => restores.cancel.mutate({ uuid, restore_uuid: restore.uuid }),
    })),
  ];
}

/** An ended run can be chosen by its uuid too, so that the API reports how it ended. */
function chosen(name: string, runs: readonly CancellableRun[], wanted: string | undefined): CancellableRun {
  const fitting = runs.filter(({ uuid, status }) => (wanted === undefined ? status === "running" : uuid === wanted));
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined) {
    throw usage(`${name} has ${fitting.length} running. Choose one:`, [
      ...fitting.map(({ uuid, what, step }) => `${uuid}  ${what}${step === null ? "" : `, ${step}`}`),
    ]);
  }
  if (wanted === undefined) throw new Failure(`No backup, restore or drill of ${name} is running.`);
  throw usage(`${name} has no backup, restore or drill ${printable(wanted)}.`);
}
