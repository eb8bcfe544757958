import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import type { Writable } from "node:stream";
import { createLogUpdate } from "log-update";
import { findLinks } from "../application-link.ts";
import { problemError } from "../connection/problem.ts";
import { rest } from "../connection/rest.ts";
import { EXIT, type ExitCode, Failure, hasCode, usage } from "../failure.ts";
import { bytes } from "../format.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import type { ListedExecution, Saved } from "./saved-backups.ts";

/** Writes a backup to a file while it arrives. A file that is not complete and as recorded is removed again. */
export async function downloadBackup(
  session: Session,
  { api, uuid, name }: Saved,
  { uuid: execution, scheduled_backup_uuid, size, checksum }: ListedExecution,
  wanted: string | undefined,
): Promise<ExitCode> {
  const { output, system } = session;
  if (wanted === "-" && system.stdout.isTTY)
    throw usage("A backup is not printed on a terminal. Redirect the output, or name a file with --output.");
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  try {
    const response = await rest(api.connection, {
      method: "GET",
      path: `/databases/${encodeURIComponent(uuid)}/backups/${encodeURIComponent(scheduled_backup_uuid)}/executions/${encodeURIComponent(execution)}/download`,
      signal: interruption.signal,
    });
    if (!response.ok) throw problemError(response.status, await response.text());
    const total = size === null ? undefined : Number(size);
    const body = verified(response.body ?? [], { sizeBytes: total, sha256: checksum });
    if (wanted === "-") {
      for await (const chunk of body) await written(system.stdout, chunk);
      return EXIT.ok;
    }
    const path = resolve(system.cwd, wanted ?? sentName(response) ?? `${execution}.backup`);
    const progress = output.isLive ? createLogUpdate(system.stdout) : undefined;
    try {
      const sizeBytes = await saveTo(path, body, (count) =>
        progress?.(`Downloading ${bytes(count)}${total === undefined ? "" : ` of ${bytes(total)}`}`),
      );
      progress?.clear();
      const result = { path, size: sizeBytes, checksum };
      output.show(result, () => {
        output.line(`Downloaded the backup of ${name} to ${printable(path)}: ${bytes(sizeBytes)}.`);
        output.line("It contains everything that the database contains. Only you can read the file.");
      });
      await warnOfUpload(session, path);
    } finally {
      progress?.clear();
      progress?.done();
    }
    return EXIT.ok;
  } catch (cause) {
    if (interruption.signal.aborted) throw new Failure("Nothing was kept.", { exitCode: EXIT.interrupted });
    throw cause;
  } finally {
    release();
  }
}

/** Its rows must not get into an image because somebody saved them next to the code. */
async function warnOfUpload({ output }: Session, path: string): Promise<void> {
  // The backup is saved, whatever the file that links the folder contains.
  const linked = await findLinks(dirname(path)).catch(() => undefined);
  if (linked === undefined || linked.links.length === 0) return;
  output.warn(
    `The next deployment of ${printable(linked.folder)} uploads this file too. Move it, or add a line to .berthignore there: /${printable(relative(linked.folder, path))}`,
  );
}

/** The name that the server sent, without the folders that it might contain. */
function sentName({ headers }: Response): string | undefined {
  const [, name] = /filename="([^"]+)"/.exec(headers.get("content-disposition") ?? "") ?? [];
  return name === undefined ? undefined : basename(name).replace(/^\.+/, "") || undefined;
}

interface Recorded {
  readonly sizeBytes: number | undefined;
  readonly sha256: string | null;
}

/** @throws Failure for content that is cut off or differs from the recorded checksum */
async function* verified(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, { sizeBytes, sha256 }: Recorded) {
  const hash = createHash("sha256");
  let received = 0;
  try {
    for await (const chunk of body) {
      hash.update(chunk);
      received += chunk.length;
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw brokenOff(received, cause);
  }
  if (sizeBytes !== undefined && received !== sizeBytes) throw brokenOff(received);
  if (sha256 !== null && hash.digest("hex") !== sha256)
    throw new Failure("The backup is damaged: its checksum differs from the recorded one. Nothing was kept.");
}

const brokenOff = (received: number, cause?: unknown) =>
  new Failure(`The download broke off after ${bytes(received)}, so nothing was kept.`, {
    cause,
    details: ["Try again. If it breaks off at the same place, the copy is damaged: berth backup drill DATABASE BACKUP"],
  });

async function saveTo(
  path: string,
  body: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): Promise<number> {
  const file = await created(path);
  let count = 0;
  try {
    for await (const chunk of body) {
      await file.writeFile(chunk);
      count += chunk.length;
      onBytes(count);
    }
    await file.close();
    return count;
  } catch (cause) {
    await file.close();
    await rm(path, { force: true });
    if (hasCode(cause, "ENOSPC", "EDQUOT", "EFBIG"))
      throw new Failure(`${path} cannot be written: the disk is full. Nothing was kept.`, { cause });
    throw cause;
  }
}

/** Only its owner may read it. A file that exists is not replaced, as it may be the only other copy. */
async function created(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (cause) {
    if (hasCode(cause, "EEXIST"))
      throw usage(`${path} exists already. Name another file with --output, or remove it first.`);
    throw new Failure(`${path} cannot be written.`, { cause });
  }
}

function written(stream: Writable, chunk: Uint8Array): Promise<void> {
  return new Promise((done, failed) => stream.write(chunk, (error) => (error ? failed(error) : done())));
}
