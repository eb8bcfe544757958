import { DomainError, isDomainError } from "@berth/core";
import { withoutScripts } from "@berth/core/application";
import { cancelledRestore, type RestoreReach } from "@berth/core/backup";
import { databaseEngine } from "@berth/core/database";
import { databaseSpec, liveKeyOf } from "@berth/core/deploy";
import type {
  ClaimedRestore,
  ReleaseRecord,
  RestoredTable,
  RestoreEnd,
  RestoreStep,
  ServerRecord,
  TableRows,
} from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import { recordEnd } from "../lease-runner.ts";
import { textInput } from "../text-input.ts";
import { pause } from "../wait.ts";
import { countRows, type LiveDatabase, live, requireSuccess, shownMessage } from "./database.ts";
import { failureReason } from "./failure-reason.ts";
import { type KnownDatabase, readDatabase, textsToHide } from "./known-database.ts";
import { abortedBy, assertNotAborted, graceAfter } from "./program.ts";
import { type BackupDeps, limitBytes, openStorage, RESTORE_FOLDER } from "./tools.ts";

interface RestoreRun {
  readonly deps: BackupDeps;
  readonly claimed: ClaimedRestore;
  /** Ends the restore, also at its time limit. */
  readonly signal: AbortSignal;
  readonly report: (step: RestoreStep) => Promise<void>;
}

/** Results so far. */
interface Outcome {
  hidden: readonly string[];
  notes: string[];
  tables: readonly RestoredTable[] | null;
  /** How far the restore has changed the database. */
  reach: RestoreReach;
}

/** Runs a claimed restore. Never rejects. */
export async function runRestore(deps: BackupDeps, claimed: ClaimedRestore, keeper: LeaseKeeper): Promise<void> {
  const { stores, clock, logger, owner } = deps;
  const lease = { uuid: claimed.uuid, owner };
  keeper.limit(claimed.timeout);
  const outcome: Outcome = { hidden: [], notes: [], tables: null, reach: "untouched" };
  try {
    const report = (step: RestoreStep) =>
      stores.restores
        .progress(lease, step)
        .catch((error: unknown) => logger.debug("The progress of a restore could not be recorded.", { error }));
    let failure: string | undefined;
    try {
      await restore({ deps, claimed, signal: keeper.signal, report }, outcome);
    } catch (error) {
      if (!isDomainError(error)) logger.warn("A backup could not be restored.", { restore: claimed.uuid, error });
      failure =
        keeper.ending === "cancelled"
          ? cancelledRestore(claimed.kind, outcome.reach)
          : failureReason(keeper, error, claimed.timeout);
    }
    if (keeper.isLost) return;
    const message = [...outcome.notes, ...(failure === undefined ? [] : [failure])].join("\n");
    const end: RestoreEnd = {
      status: failure === undefined ? "success" : keeper.ending === "cancelled" ? "cancelled-by-user" : "failed",
      message: message === "" ? null : shownMessage(message, deps.redactor(outcome.hidden)),
      tables: outcome.tables,
      finished_at: clock.now(),
    };
    await recordEnd(keeper, () => stores.restores.finish(lease, end));
    logger.info("Restore ended.", { restore: claimed.uuid, kind: claimed.kind, status: end.status });
  } catch (error) {
    // Another worker records it as failed once the lease has expired.
    logger.warn("The end of a restore could not be recorded.", { restore: claimed.uuid, error });
  }
}

async function restore(run: RestoreRun, outcome: Outcome): Promise<void> {
  const { deps, claimed, signal, report } = run;
  const target = await readDatabase(deps.stores, { team_id: claimed.team_id, uuid: claimed.target_database_uuid });
  outcome.hidden = textsToHide(target);
  await withContent(run, outcome, async (path) => {
    const work = async (database: KnownDatabase, running: LiveDatabase, into: string | null) => {
      await report("restoring");
      await feed(run, { database, running, into, path }, outcome);
      await report("counting");
      const rows = await countRows(database, running, into, signal);
      outcome.tables = compared(rows, claimed.table_rows ?? {});
    };
    const [server, release] = await Promise.all([
      deps.stores.servers.find(target.record.server_id),
      deps.stores.releases.live(liveKeyOf(target.record)),
    ]);
    if (server === undefined || release === undefined) {
      throw new DomainError("resource.not_running", "The database was never started: start it once, then try again.");
    }
    if (claimed.kind === "drill") {
      await withScratch(run, { target, server, release }, (database, running) =>
        work(database, running, claimed.saved?.database ?? null),
      );
      return requireSame(outcome.tables ?? []);
    }
    const ref = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
    const running = live(deps.adaptersOf(server).engine, ref, target, claimed.uuid);
    await work(target, running, claimed.database_name);
  });
}

/**
 * Calls `work` with a file whose checksum matches the recorded one. A drill checks all copies; a restore uses the
 * first good one. An object of a bucket is downloaded first: read a second time, it might differ.
 */
async function withContent(run: RestoreRun, outcome: Outcome, work: (path: string) => Promise<void>): Promise<void> {
  const { deps, claimed, signal, report } = run;
  const { files, digest } = deps.backups;
  const staged = files.pathOf(RESTORE_FOLDER, claimed.uuid);
  const { file, object } = claimed;
  const isNear = file !== null && file.folder === (await files.folder());
  const copies = [
    ...(isNear
      ? [
          {
            name: "The file on the server",
            path: file.filename,
            check: () => digest(abortedBy(files.read(file.filename), signal)),
          },
        ]
      : []),
    ...(object === null
      ? []
      : [
          {
            name: "The object in the S3 storage",
            path: staged,
            check: async () => {
              const storage = await openStorage(deps, { team_id: claimed.team_id, uuid: object.s3_storage_uuid });
              const content = storage.get(object.s3_key, signal);
              // Older backups have a checksum but no recorded size.
              const sent = claimed.size_bytes === null ? content : limitBytes(claimed.size_bytes, content);
              return await files.write(staged, (take) => take(sent), { isCompressed: true });
            },
          },
        ]),
  ];
  try {
    await report("checking");
    let good: string | undefined;
    const bad: string[] = [];
    for (const { name, path, check } of copies) {
      if (good !== undefined && claimed.kind === "restore") break;
      const problem = await check().then(
        ({ sha256 }) =>
          sha256 === claimed.sha256 ? undefined : `${name} is damaged: its checksum differs from the backup's.`,
        (error: unknown) => {
          if (signal.aborted || !isDomainError(error)) throw error;
          return `${name} cannot be read: ${error.message}`;
        },
      );
      if (problem === undefined) good ??= path;
      else bad.push(problem);
    }
    if (good === undefined || (claimed.kind === "drill" && bad.length > 0)) {
      throw new DomainError("resource.state", bad.join("\n") || "No reachable copy of this backup is left.");
    }
    outcome.notes.push(...bad);
    await work(good);
  } finally {
    await files.remove(staged);
  }
}

interface Feed {
  readonly database: KnownDatabase;
  readonly running: LiveDatabase;
  readonly into: string | null;
  readonly path: string;
}

async function feed(run: RestoreRun, { database, running, into, path }: Feed, outcome: Outcome): Promise<void> {
  const { deps, claimed, signal } = run;
  const { dumps, values } = database;
  const { saved } = claimed;
  const asked =
    saved === null
      ? dumps.restoreAll(values)
      : dumps.restore(values, { from: saved.database, into: into ?? saved.database });
  const { isCompressed } = dumps.formats[saved === null ? "all" : "one"];
  const content = deps.backups.files.read(path);
  const input = isCompressed ? content : deps.backups.decompress(content);
  const isAtomic = saved !== null && dumps.isRestoreAtomic;
  outcome.reach = isAtomic ? "either" : "partial";
  const isProblem = saved === null ? dumps.isProblem : undefined;
  // Some databases lock clients out during a restore, and stay locked after an interruption.
  const letIn = async () =>
    saved === null ? await keepLogin(database, running, graceAfter(signal, LET_IN_MS_MAX)) : undefined;
  const result = await running.command(running.ref, asked, { signal, input }).catch(async (error: unknown) => {
    await letIn().catch(() => undefined);
    throw error;
  });
  // An interrupted program may exit with 0 without having read everything.
  const isWhole = result.exitCode === 0 && (isAtomic || !signal.aborted);
  if (isWhole) outcome.reach = "whole";
  else if (isAtomic) outcome.reach = "undone";
  const login = await letIn();
  requireSuccess(asked, result, isProblem);
  login?.();
}

const LET_IN_MS_MAX = 3000;

/** @returns A function that throws when the statements failed; the caller reports the restore's own failure first. */
async function keepLogin(
  { dumps, values }: KnownDatabase,
  running: LiveDatabase,
  signal: AbortSignal,
): Promise<(() => void) | undefined> {
  if (dumps.keepLogin === undefined) return undefined;
  const { input: statements, ...asked } = dumps.keepLogin(values);
  const result = await running.command(running.ref, asked, { signal, input: textInput(statements) });
  return () => requireSuccess(asked, result);
}

interface RestoreTarget {
  readonly target: KnownDatabase;
  readonly server: ServerRecord;
  readonly release: ReleaseRecord;
}

/** A temporary database of the same image for a drill: it has no public port, and its volumes are removed with it. */
async function withScratch(
  { deps, claimed, signal, report }: RestoreRun,
  { target, server, release }: RestoreTarget,
  work: (database: KnownDatabase, running: LiveDatabase) => Promise<void>,
): Promise<void> {
  const { engine } = deps.adaptersOf(server);
  const { dumps, secrets } = target;
  const name = claimed.saved?.database;
  const fields = { ...target.record.fields, ...(name === undefined ? {} : { [dumps.mainField]: name }) };
  const record = { ...target.record, fields, uuid: claimed.uuid, name: `drill of ${target.record.name}` };
  const database = { ...target, record, values: { ...target.values, ...fields } };
  const spec = databaseSpec(
    { database: record, secrets: withoutScripts(secrets), deployment: { uuid: claimed.uuid }, envs: [], storages: [] },
    release.artifact,
  );
  const ref = { resourceUuid: claimed.uuid, deploymentUuid: claimed.uuid };
  try {
    await report("starting");
    await engine.start(spec, { signal, onLine: () => undefined });
    const running = live(engine, ref, database, claimed.uuid);
    const healthArgv = databaseEngine(record.engine).health(database.values);
    for (;;) {
      const state = await engine.inspect(ref);
      if (state === undefined || state.state === "exited" || state.state === "dead" || state.restartCount > 0) {
        throw new DomainError("deploy.unhealthy", "The database for the drill did not start.");
      }
      if (state.state === "running") {
        const asked = { argv: healthArgv, variables: {} };
        if ((await running.command(ref, asked, { signal })).exitCode === 0) break;
      }
      await pause(HEALTH_SECONDS, signal);
      assertNotAborted(signal);
    }
    await work(database, running);
  } finally {
    await engine.remove(ref, { graceSeconds: 0 });
    await engine.removeResource(claimed.uuid, { deleteVolumes: true });
  }
}

const HEALTH_SECONDS = 0.5;

function compared(found: TableRows, expected: TableRows): readonly RestoredTable[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
  return names.map((name) => ({ name, rows: found[name] ?? null, expected_rows: expected[name] ?? null }));
}

function requireSame(tables: readonly RestoredTable[]): void {
  const other = tables.filter(({ rows, expected_rows }) => expected_rows !== null && rows !== expected_rows);
  if (other.length === 0) return;
  const told = other
    .slice(0, 5)
    .map(({ name, rows, expected_rows }) => `${name}: ${rows ?? "no table"} instead of ${expected_rows}`);
  throw new DomainError("resource.state", `Row counts differ from the backup: ${told.join("; ")}.`);
}
