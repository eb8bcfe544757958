import { type BackupStatus, backupStates } from "@berth/core/backup";
import type { RunStore } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { RUN_CHANNEL, runTopic } from "./changes.ts";
import type { StoreContext } from "./context.ts";

/** If a notification was lost, or was not sent: an older replica reports only the end of backups and restores. */
const WAIT_MS_MAX = 5000;

export const runStore = ({ database: { changes } }: StoreContext): RunStore => ({
  async *readings(uuid, read, signal) {
    while (!signal.aborted) {
      // Taken before the read, so that a change in between is noticed.
      const since = changes.clock();
      const run = await read();
      if (run === undefined) return;
      yield run;
      await changes.wait(runTopic(uuid), since, signal, WAIT_MS_MAX);
    }
  },
});

/** The run when it has ended, or after this time. */
export async function runEnd<Run extends { readonly status: BackupStatus }>(
  context: StoreContext,
  { uuid, secondsMax }: { readonly uuid: string; readonly secondsMax: number },
  read: () => Promise<Run | undefined>,
): Promise<Run | undefined> {
  for await (const run of runStore(context).readings(uuid, read, AbortSignal.timeout(secondsMax * 1000))) {
    if (backupStates.isTerminal(run.status)) return run;
  }
  return await read();
}

/**
 * For writes outside of a transaction: one statement that writes and notifies followers.
 *
 * @param update Returns the `uuid` of each run that it changed.
 * @returns Whether it changed any
 */
export async function updateRuns({ db }: StoreContext, update: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`with changed as (${update})
    select pg_notify(${sql.lit(RUN_CHANNEL)}, uuid) from changed`.execute(db);
  return rows.length > 0;
}
