import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { UPLOAD_LIMITS } from "@berth/core/source";
import { Pack } from "tar";
import { Failure, usage } from "../failure.ts";
import { bytes, plural } from "../format.ts";
import { printable } from "../printable.ts";
import type { Content, Entry } from "./walk.ts";

/** Limits of an upload, the same as the server's. */
export interface Limits {
  /** Total size of the files. */
  readonly sizeBytes: number;
  readonly entries: number;
  /** Size of the compressed archive, checked while it is written. */
  readonly archiveBytes: number;
}

export const LIMITS: Limits = {
  sizeBytes: UPLOAD_LIMITS.unpackedBytes,
  entries: UPLOAD_LIMITS.entries,
  archiveBytes: UPLOAD_LIMITS.archiveBytes,
};

const BIGGEST_SHOWN = 5;

/** @throws Failure that names the largest files and folders. */
export function assertUploadable(content: Content, limits: Limits = LIMITS): void {
  const { entries, sizeBytes } = content;
  if (entries.every(({ stats }) => stats.isDirectory())) {
    throw usage("Nothing to deploy: the folder contains no files, or its ignore files leave all of them out.");
  }
  if (sizeBytes > limits.sizeBytes) throw tooLarge(entries, "bytes", sizeBytes, limits.sizeBytes);
  if (entries.length > limits.entries) throw tooLarge(entries, "entries", entries.length, limits.entries);
}

type Measure = "bytes" | "entries";

function tooLarge(entries: readonly Entry[], measure: Measure, found: number, limit: number): Failure {
  return new Failure(
    `The folder contains ${amount(measure, found)}, and at most ${amount(measure, limit)} can be uploaded.`,
    {
      details: [...biggest(entries, measure), ADVICE],
    },
  );
}

const amount = (measure: Measure, count: number) =>
  measure === "bytes" ? bytes(count) : plural(count, "entry", "entries");

const ADVICE = "Leave out what is not needed by a line in .berthignore.";

function biggest(entries: readonly Entry[], measure: Measure): readonly string[] {
  const sums = new Map<string, number>();
  for (const { path, stats } of entries) {
    // A file in the root, or a top-level folder with its content.
    const slash = path.indexOf("/");
    const top = slash === -1 ? path + (stats.isDirectory() ? "/" : "") : path.slice(0, slash + 1);
    const weight = measure === "entries" ? 1 : stats.isFile() ? stats.size : 0;
    sums.set(top, (sums.get(top) ?? 0) + weight);
  }
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, BIGGEST_SHOWN)
    .map(([name, sum]) => `${amount(measure, sum).padStart(14)}  ${printable(name)}`);
}

export interface ArchiveOptions {
  /** Called with the number of tar bytes compressed so far. */
  readonly onBytes?: (count: number) => void;
  readonly limits?: Limits;
}

/**
 * A tar.gz of the content, created while it is read. The same content gives the same bytes, so the server recognises a
 * repeated upload.
 *
 * @param folder The folder that `content` was read from
 */
export function archive(folder: string, content: Content, options: ArchiveOptions = {}): Readable {
  const { onBytes = () => {}, limits = LIMITS } = options;
  const tar = Readable.from(read(packed(folder, content)), { objectMode: false });
  const counted = counter(onBytes);
  const limited = counter((count) => {
    if (count <= limits.archiveBytes) return;
    throw new Failure(`The folder takes more than ${bytes(limits.archiveBytes)} when compressed: too much to upload.`, {
      details: [...biggest(content.entries, "bytes"), ADVICE],
    });
  });
  // The last stream reports failures of all: errors are passed along the pipeline.
  pipeline(tar, counted, createGzip(), limited).catch(() => {});
  return limited;
}

async function* read(pack: Pack): AsyncGenerator<Buffer> {
  try {
    yield* pack;
  } catch (cause) {
    throw new Failure("The folder changed, or could not be read, while it was packed. Try again.", { cause });
  }
}

function packed(folder: string, { entries }: Content): Pack {
  const targets = new Map(entries.map(({ path, target }) => [path, target]));
  const pack = new Pack({
    cwd: folder,
    portable: true,
    noDirRecurse: true,
    // Without it, names like `c:notes` would lose their beginning. All paths are relative.
    preservePaths: true,
    strict: true,
    onWriteEntry: (entry) => {
      const target = targets.get(entry.path);
      if (target !== undefined) entry.linkpath = target;
    },
  });
  // Its reader hears the first error only. Files that are gone as well would end the process.
  pack.on("error", () => undefined);
  for (const { path } of entries) pack.add(path);
  pack.end();
  return pack;
}

function counter(onBytes: (count: number) => void): Transform {
  let count = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      count += chunk.length;
      try {
        onBytes(count);
        done(null, chunk);
      } catch (problem) {
        // The counting functions only throw Errors.
        done(problem as Error);
      }
    },
  });
}

/** Size of the uncompressed tar, for the progress: each entry has a header and is padded to whole blocks. */
export function tarBytes({ entries }: Content): number {
  const blocks = entries.map(({ stats }) => 1 + (stats.isFile() ? Math.ceil(stats.size / TAR_BLOCK_BYTES) : 0));
  return blocks.reduce((sum, count) => sum + count * TAR_BLOCK_BYTES, 2 * TAR_BLOCK_BYTES);
}

const TAR_BLOCK_BYTES = 512;
