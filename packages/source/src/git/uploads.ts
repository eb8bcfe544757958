import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { ArchiveContent } from "./archive-entries.ts";
import type { SourceLimits } from "./git-context.ts";
import { removeLeftovers } from "./leftovers.ts";
import { gunzipped, inspectTar, unpackTar } from "./unpack.ts";

/** Stored uploads of a resource, so that a rollback finds its source. */
const KEPT_MAX = 5;

/** Older files are abandoned: no connection stays open for so long. */
const LEFTOVER_SECONDS = 24 * 3600;

export interface SavedUpload {
  /** SHA-256 of the uploaded archive. */
  readonly commit: string;
  readonly sizeBytes: number;
}

/**
 * Uploaded archives, each checked before it is stored: `FOLDER/RESOURCE/SHA256.tar(.gz)`, and a file `latest` that
 * names the newest.
 */
export function uploadStore(folder: string, limits: SourceLimits) {
  const folderOf = (resourceUuid: string) => join(folder, safeName(resourceUuid));

  return {
    /** @throws DomainError `source.invalid`, `request.too_large` */
    async save(resourceUuid: string, archive: AsyncIterable<Uint8Array>): Promise<SavedUpload> {
      const place = folderOf(resourceUuid);
      await mkdir(place, { recursive: true, mode: 0o700 });
      await removeLeftovers(place, ".incoming-", LEFTOVER_SECONDS);
      const incoming = join(place, `.incoming-${process.pid}-${crypto.randomUUID()}`);
      try {
        const { commit, sizeBytes, isGzip } = await receive(archive, incoming, limits.uploadBytes);
        await inspectTar(gunzipped(createReadStream(incoming), isGzip), limits);
        await rename(incoming, join(place, `${commit}${isGzip ? ".tar.gz" : ".tar"}`));
        await writeFile(`${incoming}.latest`, `${commit}\n`, { mode: 0o600 });
        await rename(`${incoming}.latest`, join(place, "latest"));
        await removeOld(place, commit);
        return { commit, sizeBytes };
      } finally {
        await rm(incoming, { force: true });
      }
    },

    /**
     * @param commit SHA-256 of an upload, or `HEAD` for the newest.
     * @returns The SHA-256 of the unpacked archive.
     * @throws DomainError `source.not_found`
     */
    async unpack(
      resourceUuid: string,
      commit: string,
      into: string,
    ): Promise<{ commit: string; content: ArchiveContent }> {
      const place = folderOf(resourceUuid);
      const wanted = commit === "" || commit === "HEAD" ? await latest(place) : commit.toLowerCase();
      const file = await archiveOf(place, wanted);
      if (wanted === undefined || file === undefined) throw missing(commit);
      await utimes(file, new Date(), new Date()); // Marks it as used, so that it is removed last.
      const bytes = gunzipped(createReadStream(file), file.endsWith(".gz"));
      return { commit: wanted, content: await unpackTar(bytes, into, limits) };
    },

    /** Removes all uploads of a resource. Idempotent. */
    async remove(resourceUuid: string): Promise<void> {
      await rm(folderOf(resourceUuid), { recursive: true, force: true });
    },
  };
}

/** Checks that a name can be a part of a path: uuids always can. */
export function safeName(uuid: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(uuid)) return uuid;
  throw new DomainError("source.invalid", "This identifier is not a folder name. Use the uuid of the object.");
}

async function receive(archive: AsyncIterable<Uint8Array>, file: string, bytesMax: number) {
  const hash = createHash("sha256");
  const handle = await open(file, "wx", 0o600);
  let sizeBytes = 0;
  let start = Buffer.alloc(0);
  try {
    for await (const chunk of archive) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > bytesMax) throw tooLarge(bytesMax);
      if (start.length < 2) start = Buffer.concat([start, chunk]).subarray(0, 2);
      hash.update(chunk);
      await writeFile(handle, chunk);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  const isGzip = start[0] === 0x1f && start[1] === 0x8b;
  return { commit: hash.digest("hex"), sizeBytes, isGzip };
}

async function latest(place: string): Promise<string | undefined> {
  const text = await readFile(join(place, "latest"), "utf8").catch(() => undefined);
  return text?.trim();
}

async function archiveOf(place: string, commit: string | undefined): Promise<string | undefined> {
  if (commit === undefined || !/^[0-9a-f]{64}$/.test(commit)) return undefined;
  for (const suffix of [".tar.gz", ".tar"]) {
    const file = join(place, commit + suffix);
    if (
      await stat(file).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}

async function removeOld(place: string, newest: string): Promise<void> {
  const names = (await readdir(place)).filter((name) => /^[0-9a-f]{64}\.tar(\.gz)?$/.test(name));
  const aged = await Promise.all(
    names.map(async (name) => ({
      name,
      // An upload that another request has just removed sorts last, and removing it again does no harm.
      at: name.startsWith(newest)
        ? Number.POSITIVE_INFINITY
        : await stat(join(place, name)).then(
            (s) => s.mtimeMs,
            () => 0,
          ),
    })),
  );
  const old = aged.sort((a, b) => b.at - a.at).slice(KEPT_MAX);
  await Promise.all(old.map(({ name }) => rm(join(place, name), { force: true })));
}

const tooLarge = (bytesMax: number) =>
  new DomainError(
    "request.too_large",
    `The upload is larger than ${Math.floor(bytesMax / (1 << 20))} MiB. Leave out what is built or installed, like node_modules.`,
  );

const missing = (commit: string) =>
  new DomainError(
    "source.not_found",
    /^(HEAD)?$/.test(commit)
      ? "No folder has been uploaded yet. Upload one and deploy again."
      : `The upload ${commit.slice(0, 64)} is no longer stored. Upload the folder again.`,
  );
