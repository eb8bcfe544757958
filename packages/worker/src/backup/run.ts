import { DomainError, isDomainError } from "@berth/core";
import { CANCELLED_BACKUP } from "@berth/core/backup";
import type {
  BackupEnd,
  BackupPlaces,
  BackupStep,
  ClaimedBackup,
  RunLease,
  StoredContent,
  TableRows,
} from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import { recordEnd } from "../lease-runner.ts";
import { countRows, type LiveDatabase, live, requireSuccess, shownMessage } from "./database.ts";
import { failureReason } from "./failure-reason.ts";
import { type KnownDatabase, readDatabase, textsToHide } from "./known-database.ts";
import { applyRetention, REMOVAL_MS_MAX, removeCopies } from "./retention.ts";
import { type BackupDeps, limitBytes, openStorage } from "./tools.ts";

interface BackupRun {
  readonly deps: BackupDeps;
  readonly claimed: ClaimedBackup;
  readonly lease: RunLease;
  /** Ends the backup, also at its time limit. */
  readonly signal: AbortSignal;
  readonly report: (step: BackupStep, written: number) => void;
}

/** Runs a claimed backup. Never rejects. */
export async function runBackup(deps: BackupDeps, claimed: ClaimedBackup, keeper: LeaseKeeper): Promise<void> {
  const { stores, clock, logger, owner, backups } = deps;
  const lease = { uuid: claimed.execution_uuid, owner };
  const details = { backup: claimed.schedule_uuid, execution: claimed.execution_uuid };
  const progress = progressOf(deps, lease);
  const saved: Saved = {};
  keeper.limit(claimed.settings.timeout);
  try {
    const run = { deps, claimed, lease, signal: keeper.signal, report: progress.report };
    let failure: unknown;
    try {
      await save(run, saved);
    } catch (error) {
      failure = error;
    }
    await progress.stop();
    const end = endOf(claimed, saved, failure, keeper);
    if (failure !== undefined && !isDomainError(failure))
      logger.warn("A backup failed.", { ...details, error: failure });
    const redact = deps.redactor(saved.database ? textsToHide(saved.database) : []);
    const message = end?.message ? shownMessage(end.message, redact) : null;
    const finished_at = clock.now();
    const isWritten =
      end !== undefined &&
      (await recordEnd(keeper, () => stores.backups.finish(lease, { ...end, message, finished_at })));
    // The execution was deleted, or another worker ends it: no record would reference the file or the object.
    if (!isWritten && saved.places) {
      await backups.files.remove(saved.places.filename);
      await stores.backups.discard(saved.places);
    }
    if (isWritten) logger.info("Backup ended.", { ...details, status: end.status });
    if (keeper.ending === "cancelled") await removeCopies(deps, AbortSignal.timeout(REMOVAL_MS_MAX));
    await applyRetention(deps, claimed);
  } catch (error) {
    // Another worker records it as failed once the lease has expired.
    logger.warn("The end of a backup could not be recorded.", { ...details, error });
  } finally {
    await progress.stop();
  }
}

/** Results so far. */
interface Saved {
  database?: KnownDatabase;
  places?: BackupPlaces;
  content?: StoredContent;
  rows?: TableRows | undefined;
  isUploaded?: boolean;
}

async function save(run: BackupRun, saved: Saved): Promise<void> {
  const { deps, claimed, lease, signal } = run;
  const { stores, backups } = deps;
  const { settings } = claimed;
  const database = await readDatabase(stores, { team_id: claimed.team_id, uuid: claimed.resource_uuid });
  saved.database = database;
  const running = await liveDatabase(deps, claimed, database);
  const places = await placesOf(deps, claimed, database);
  if (!(await stores.backups.place(lease, places))) throw new DomainError("deploy.cancelled", "It is being deleted.");
  saved.places = places;
  // Checked first, so that a deleted S3 storage is reported before the long dump.
  const storage =
    places.s3_key === null
      ? undefined
      : await openStorage(deps, { team_id: claimed.team_id, uuid: claimed.s3_storage_uuid });
  const before = await quickCount(run, database, running);
  saved.content = await dump(run, database, running, places.filename);
  const after = before && (await quickCount(run, database, running));
  saved.rows = before && after && unchanged(before, after);
  if (storage === undefined || places.s3_key === null) return;

  const { sha256, sizeBytes } = saved.content;
  run.report("uploading", sizeBytes);
  await storage.put(places.s3_key, backups.files.read(places.filename), { sizeBytes, signal });
  run.report("checking", sizeBytes);
  const stored = await backups.digest(limitBytes(sizeBytes, storage.get(places.s3_key, signal)));
  if (stored.sha256 !== sha256) {
    throw new DomainError(
      "cloud.failed",
      "The S3 storage returns other content than was sent to it (the checksum differs).",
    );
  }
  saved.isUploaded = true;
  if (settings.disable_local_backup) await backups.files.remove(places.filename);
}

async function liveDatabase(
  { stores, adaptersOf }: BackupDeps,
  claimed: ClaimedBackup,
  database: KnownDatabase,
): Promise<LiveDatabase> {
  const [server, release] = await Promise.all([
    stores.servers.find(claimed.server_id),
    stores.releases.live({ ...claimed, pull_request_id: 0 }),
  ]);
  if (server === undefined || release === undefined) {
    throw new DomainError("resource.not_running", "The database is not running. Start it first.");
  }
  const ref = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
  return live(adaptersOf(server).engine, ref, database, claimed.execution_uuid);
}

async function placesOf(
  { backups: { files } }: BackupDeps,
  { execution_uuid, created_at, target, settings, s3_storage_id, resource_uuid }: ClaimedBackup,
  { dumps }: KnownDatabase,
): Promise<BackupPlaces> {
  const { extension, isCompressed } = dumps.formats[target === null ? "all" : "one"];
  const stamp = created_at.toISOString().replace(/[-:]|\.\d+/g, "");
  const name = `${stamp}-${target?.database ?? "all"}-${execution_uuid}.${extension}${isCompressed ? "" : ".gz"}`;
  return {
    folder: await files.folder(),
    filename: files.pathOf(resource_uuid, name),
    ...(settings.save_s3
      ? { s3_storage_id, s3_key: `${resource_uuid}/${name}` }
      : { s3_storage_id: null, s3_key: null }),
  };
}

async function dump(
  { deps, claimed: { target }, signal, report }: BackupRun,
  { dumps, values }: KnownDatabase,
  { ref, command }: LiveDatabase,
  path: string,
): Promise<StoredContent> {
  const asked = target === null ? dumps.dumpAll(values) : dumps.dump(values, target);
  let hasBytes = false;
  const content = await deps.backups.files.write(
    path,
    async (sink) => {
      const output = (chunks: AsyncIterable<Uint8Array>) => sink(noticed(chunks, () => (hasBytes = true)));
      requireSuccess(asked, await command(ref, asked, { signal, output }));
      if (!hasBytes) throw new DomainError("deploy.command_failed", `${asked.argv[0]} wrote nothing.`);
    },
    {
      isCompressed: dumps.formats[target === null ? "all" : "one"].isCompressed,
      onBytes: (written) => report("dumping", written),
    },
  );
  return content;
}

async function* noticed(chunks: AsyncIterable<Uint8Array>, notice: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    notice();
    yield chunk;
  }
}

/** Counts rows only where that is cheap: a backup neither fails nor waits because of the count. */
async function quickCount(
  { claimed: { target }, signal }: BackupRun,
  database: KnownDatabase,
  running: LiveDatabase,
): Promise<TableRows | undefined> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS_MAX)]);
    return await countRows(database, running, target?.database ?? null, limit);
  } catch (error) {
    if (signal.aborted || !isDomainError(error)) throw error;
    return undefined;
  }
}

const COUNT_MS_MAX = 10_000;

/** Only counts that are the same before and after the dump are certain to match it. */
const unchanged = (before: TableRows, after: TableRows): TableRows =>
  Object.fromEntries(Object.entries(before).filter(([table, rows]) => after[table] === rows));

type End = Omit<BackupEnd, "finished_at">;

/** `undefined` when this worker must not record the end. */
function endOf({ settings }: ClaimedBackup, saved: Saved, failure: unknown, keeper: LeaseKeeper): End | undefined {
  const { content, rows, isUploaded = false } = saved;
  const found = {
    size_bytes: content?.sizeBytes ?? null,
    sha256: content?.sha256 ?? null,
    table_rows: rows ?? null,
    s3_uploaded: saved.places?.s3_key === null ? null : isUploaded,
  };
  if (failure === undefined) {
    return { ...found, status: "success", message: null, keepsFile: !(isUploaded && settings.disable_local_backup) };
  }
  if (keeper.isLost) return undefined;
  // A cancelled backup is discarded, even when it was complete and about to be sent.
  if (keeper.ending === "cancelled") {
    const none = { ...found, size_bytes: null, sha256: null, table_rows: null, keepsFile: false };
    return { ...none, status: "cancelled-by-user", message: CANCELLED_BACKUP };
  }
  const keepsFile = content !== undefined && !settings.disable_local_backup;
  const reason = failureReason(keeper, failure, settings.timeout);
  const message = keepsFile ? `${reason}\nThe file on the server is complete and stays.` : reason;
  return { ...found, status: "failed", message, keepsFile };
}

/** Saves the progress at intervals; `stop` resolves after the last save. */
function progressOf({ stores, logger, settings }: BackupDeps, lease: RunLease) {
  let step: BackupStep = "dumping";
  let written = 0;
  let isNew = false;
  let writing: Promise<void> = Promise.resolve();
  const write = () => {
    if (!isNew) return;
    isNew = false;
    writing = stores.backups
      .progress(lease, { step, written_bytes: written })
      .catch((error: unknown) => logger.debug("The progress of a backup could not be recorded.", { error }));
  };
  const timer = setInterval(write, settings.taskFlushMs);
  return {
    report(now: BackupStep, bytes: number) {
      const isStep = now !== step;
      [step, written, isNew] = [now, bytes, true];
      if (isStep) write();
    },
    async stop() {
      clearInterval(timer);
      await writing;
    },
  };
}
