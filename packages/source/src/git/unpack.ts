import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { setImmediate as otherWork } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { DomainError } from "@berth/core";
import type { Parser, ReadEntry } from "tar";
import { type ArchiveContent, type ArchiveLimits, type EntryChecker, entryChecker } from "./archive-entries.ts";

export type ByteStream = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

// The library is loaded with the first archive.

/**
 * Unpacks a plain tar into an empty folder. Each entry is checked before it is written; when one is refused, the
 * caller must remove those written before. Owners, special mode bits and devices are ignored.
 * @throws DomainError `source.invalid`, `request.too_large`; any error of `tar` itself
 */
export async function unpackTar(tar: ByteStream, folder: string, limits: ArchiveLimits): Promise<ArchiveContent> {
  const checker = entryChecker(limits);
  const gate = entryGate(checker);
  const { Unpack } = await import("tar");
  const unpack = new Unpack({ cwd: folder, strict: true, preserveOwner: false, ...PLAIN, filter: gate.filter });
  await feed(tar, unpack, gate, limits);
  return checker.finish();
}

/**
 * Reads a plain tar to its end without writing anything.
 * @throws DomainError `source.invalid`, `request.too_large`; any error of `tar` itself
 */
export async function inspectTar(tar: ByteStream, limits: ArchiveLimits): Promise<ArchiveContent> {
  const checker = entryChecker(limits);
  const gate = entryGate(checker);
  const { Parser } = await import("tar");
  const onReadEntry = (entry: ReadEntry) => entry.resume();
  await feed(tar, new Parser({ strict: true, ...PLAIN, filter: gate.filter, onReadEntry }), gate, limits);
  return checker.finish();
}

/** Decompresses a tar that may be gzipped. */
export async function* gunzipped(archive: ByteStream, isGzip: boolean): AsyncIterable<Uint8Array> {
  if (!isGzip) {
    yield* archive;
    return;
  }
  const gunzip = createGunzip();
  // The iteration below reports failures: a failed source destroys the stream.
  const fed = pipeline(archive, gunzip).catch(() => {});
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw isZlibError(cause) ? damaged(cause) : cause;
  }
  await fed;
}

const isZlibError = (cause: unknown) => cause instanceof Error && "code" in cause && `${cause.code}`.startsWith("Z_");

// The archive is already decompressed, within the limits; the parser must not decompress it again.
const PLAIN = { brotli: false, zstd: false } as const;
const MAGIC_BYTES = 4;

/** The parser would detect a second compression itself and unpack it without limits. */
const isCompressed = (start: Buffer) =>
  start.subarray(0, 2).equals(Buffer.from([0x1f, 0x8b])) || start.equals(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));

interface EntryGate {
  readonly filter: (path: string, entry: unknown) => boolean;
  problem(): unknown;
  refuse(problem: unknown): void;
}

/** Exceptions must not pass through the parser: the first error is stored, and later entries are skipped. */
function entryGate(checker: EntryChecker): EntryGate {
  let first: unknown;
  return {
    problem: () => first,
    refuse: (problem) => {
      first ??= problem;
    },
    filter: (_path, given) => {
      if (first !== undefined) return false;
      // When unpacking, the parser only passes entries of this type.
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
  // Headers count too, so that an archive of headers only is limited as well.
  const bytesMax = limits.unpackedBytes + limits.entries * HEADER_BYTES_MAX;
  let bytes = 0;
  let bytesBehindEnd = 0;
  let isEnded = false;
  let extended = 0;
  parser.once("eof", () => {
    isEnded = true;
  });
  // Extended headers are not entries, and an archive may contain nothing else.
  parser.on("meta", () => {
    extended += 1;
    if (extended > limits.entries) gate.refuse(tooManyHeaders(limits.entries));
  });
  let start: Buffer = Buffer.alloc(0);
  parser.on("error", (cause: unknown) => gate.refuse(isWriteError(cause) ? unwritable(cause) : damaged(cause)));
  parser.on("ignoredEntry", (entry: ReadEntry) => gate.refuse(unsupported(entry)));
  const closed = once(parser, "close").catch(() => {}); // The gate stores the error.
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
      // The parser would buffer all of it, and copy the buffer for each chunk.
      bytesBehindEnd += chunk.byteLength;
      if (bytesBehindEnd > BEHIND_END_BYTES_MAX) throw tooMuchBehindEnd();
      continue;
    }
    const isReady = parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (!isReady && gate.problem() === undefined) await once(parser, "drain").catch(() => {});
    // Buffered data would otherwise be processed to the end without yielding to other work.
    await otherWork();
  }
  if (gate.problem() !== undefined) throw gate.problem();
  parser.end();
  await closed;
  if (gate.problem() !== undefined) throw gate.problem();
}

/** Programs pad the last record with zeros: usually to 10 KB, for tapes to 1 MB. */
const BEHIND_END_BYTES_MAX = 4 << 20;

const tooMuchBehindEnd = () =>
  new DomainError("request.too_large", "The archive contains data after its end. Pack the folder again.");

const tooManyHeaders = (max: number) =>
  new DomainError(
    "request.too_large",
    `The archive contains more than ${max} extended headers. Pack the folder again.`,
  );

const HEADER_BYTES_MAX = 3 * 1024; // A header, an extended header and its block of 512 bytes each, and padding.

const unsupported = (entry: ReadEntry) =>
  new DomainError("source.invalid", `The entry "${entry.path}" is of a kind that cannot be unpacked (${entry.type}).`);

/** An error of the disk, not of the archive. */
const isWriteError = (cause: unknown) => cause instanceof Error && "syscall" in cause;

const unwritable = (cause: unknown) =>
  new DomainError("engine.failed", "The source cannot be written to the disk. Check its free space.", { cause });

const damaged = (cause: unknown) =>
  new DomainError("source.invalid", "The archive is damaged or not a tar. Send a tar or a tar.gz of the folder.", {
    cause,
  });
