import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { setImmediate as otherWork } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { DomainError } from "@berth/core";
import { Parser, type ReadEntry, Unpack } from "tar";
import { type ArchiveContent, type ArchiveLimits, type EntryChecker, entryChecker } from "./archive-entries.ts";

export type ByteStream = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Unpacks a plain tar into an empty folder. Each entry is checked before it is written; when a later one is refused,
 * what was written so far stays for the caller to remove. Owners, special mode bits and devices are not taken over.
 * @throws DomainError `source.invalid`, `request.too_large`; whatever `tar` itself fails with
 */
export async function unpackTar(tar: ByteStream, folder: string, limits: ArchiveLimits): Promise<ArchiveContent> {
  const checker = entryChecker(limits);
  const gate = entryGate(checker);
  const unpack = new Unpack({ cwd: folder, strict: true, preserveOwner: false, ...PLAIN, filter: gate.filter });
  await feed(tar, unpack, gate, limits);
  return checker.finish();
}

/**
 * Reads a plain tar to its end without writing anything.
 * @throws DomainError `source.invalid`, `request.too_large`; whatever `tar` itself fails with
 */
export async function inspectTar(tar: ByteStream, limits: ArchiveLimits): Promise<ArchiveContent> {
  const checker = entryChecker(limits);
  const gate = entryGate(checker);
  const onReadEntry = (entry: ReadEntry) => entry.resume();
  await feed(tar, new Parser({ strict: true, ...PLAIN, filter: gate.filter, onReadEntry }), gate, limits);
  return checker.finish();
}

/** The bytes of a tar that may be compressed by gzip. */
export async function* gunzipped(archive: ByteStream, isGzip: boolean): AsyncIterable<Uint8Array> {
  if (!isGzip) {
    yield* archive;
    return;
  }
  const gunzip = createGunzip();
  // The iteration below reports failures: a broken source destroys the stream that it feeds.
  const fed = pipeline(archive, gunzip).catch(() => {});
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw isZlibError(cause) ? damaged(cause) : cause;
  }
  await fed;
}

const isZlibError = (cause: unknown) => cause instanceof Error && "code" in cause && `${cause.code}`.startsWith("Z_");

// The archive is already decompressed, within the limits.
const PLAIN = { brotli: false, zstd: false } as const;
const MAGIC_BYTES = 4;

/** The parser looks at the first bytes itself and would unpack a second compression beside the limits. */
const isCompressed = (start: Buffer) =>
  start.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b])) || start.equals(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));

interface EntryGate {
  readonly filter: (path: string, entry: unknown) => boolean;
  problem(): unknown;
  refuse(problem: unknown): void;
}

/** Exceptions must not pass through the parser, so the first problem is kept and every later entry left out. */
function entryGate(checker: EntryChecker): EntryGate {
  let first: unknown;
  return {
    problem: () => first,
    refuse: (problem) => {
      first ??= problem;
    },
    filter: (_path, given) => {
      if (first !== undefined) return false;
      // The parser always hands over its own entries; the type of its option covers packing as well.
      const entry = given as ReadEntry;
      try {
        checker.accept(entry);
      } catch (problem) {
        first = problem;
        return false;
      }
      const isExecutable = entry.type === "Directory" || ((entry.mode ?? 0) & 0o111) !== 0;
      entry.mode = isExecutable ? 0o755 : 0o644;
      return true;
    },
  };
}

async function feed(tar: ByteStream, parser: Parser, gate: EntryGate, limits: ArchiveLimits): Promise<void> {
  // Headers count too: an archive of nothing but headers is bounded as well.
  const bytesMax = limits.unpackedBytes + limits.entries * HEADER_BYTES_MAX;
  let bytes = 0;
  let bytesBehindEnd = 0;
  let isEnded = false;
  let extended = 0;
  parser.once("eof", () => {
    isEnded = true;
  });
  // Extended headers are no entries, and an archive may consist of nothing else.
  parser.on("meta", () => {
    extended += 1;
    if (extended > limits.entries) gate.refuse(tooManyHeaders(limits.entries));
  });
  let start: Buffer = Buffer.alloc(0);
  parser.on("error", (cause: unknown) => gate.refuse(isWriteError(cause) ? unwritable(cause) : damaged(cause)));
  parser.on("ignoredEntry", (entry: ReadEntry) => gate.refuse(unsupported(entry)));
  const closed = once(parser, "close").catch(() => {}); // An error is kept by the gate.
  for await (const chunk of tar) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax)
      gate.refuse(new DomainError("request.too_large", `The archive is larger than ${bytesMax} bytes.`));
    if (start.length < MAGIC_BYTES) {
      start = Buffer.concat([start, chunk]).subarray(0, MAGIC_BYTES);
      if (isCompressed(start)) gate.refuse(damaged("Compressed twice, or not by gzip."));
    }
    if (gate.problem() !== undefined) throw gate.problem();
    if (isEnded) {
      // The parser would keep all of it, copied once more with each chunk.
      bytesBehindEnd += chunk.byteLength;
      if (bytesBehindEnd > BEHIND_END_BYTES_MAX) throw tooMuchBehindEnd();
      continue;
    }
    const isReady = parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (!isReady && gate.problem() === undefined) await once(parser, "drain").catch(() => {});
    // Bytes that are there at once would otherwise be read to the end before anybody else has a turn.
    await otherWork();
  }
  if (gate.problem() !== undefined) throw gate.problem();
  parser.end();
  await closed;
  if (gate.problem() !== undefined) throw gate.problem();
}

/** Programs fill up their last record with zeros: of 10 KB usually, of 1 MB for tapes. */
const BEHIND_END_BYTES_MAX = 4 << 20;

const tooMuchBehindEnd = () =>
  new DomainError("request.too_large", "The archive holds more behind its end than padding. Pack the folder again.");

const tooManyHeaders = (max: number) =>
  new DomainError("request.too_large", `The archive holds more than ${max} extended headers. Pack the folder again.`);

const HEADER_BYTES_MAX = 3 * 1024; // A header, and an extended header with its block, of 512 bytes each, and padding.

const unsupported = (entry: ReadEntry) =>
  new DomainError("source.invalid", `The entry "${entry.path}" is of a kind that cannot be unpacked (${entry.type}).`);

/** The disk's fault, not the archive's. */
const isWriteError = (cause: unknown) => cause instanceof Error && "syscall" in cause;

const unwritable = (cause: unknown) =>
  new DomainError("engine.failed", "The source cannot be written to the disk. Check its free space.", { cause });

const damaged = (cause: unknown) =>
  new DomainError("source.invalid", "The archive is damaged or no tar. Send a tar or a tar.gz of the folder.", {
    cause,
  });
