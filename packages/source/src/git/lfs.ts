import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { chmod, copyFile, lstat, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DomainError, isDomainError } from "@berth/core";
import pLimit from "p-limit";
import type { ArchiveContent } from "./archive-entries.ts";
import type { Remote } from "./fetch.ts";
import { type GitContext, localGit } from "./git-context.ts";
import { brokenOff, withGuardedHttp } from "./guarded-http.ts";
import { type LfsPointer, namesLfs, POINTER_BYTES_MAX, parseLfsPointer } from "./lfs-pointer.ts";
import { lfsDownloads, lfsServerOf, openDownload } from "./lfs-server.ts";
import { mirrorFolder } from "./mirror.ts";

const BATCH_MAX = 100; // Same as git-lfs.
const DOWNLOADS_AT_ONCE = 4;

/**
 * Replaces the Git LFS pointers in a checkout by their files. Objects are stored beside the mirror.
 * @param content Content that was unpacked into `folder`.
 * @returns Bytes that were added to the checkout.
 * @throws DomainError `source.*`, `request.too_large`
 */
export async function fillLfs(
  context: GitContext,
  remote: Remote,
  commit: string,
  folder: string,
  content: ArchiveContent,
): Promise<number> {
  const pointers = (await usesLfs(folder, content))
    ? await findPointers(folder, content)
    : new Map<string, LfsPointer>();
  if (pointers.size === 0) return 0;
  const wanted = [...new Map([...pointers.values()].map((pointer) => [pointer.oid, pointer])).values()];
  const bytes = [...pointers.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (content.unpackedBytes + bytes > context.limits.unpackedBytes) {
    const message = `With its Git LFS files the source is larger than ${context.limits.unpackedBytes} bytes.`;
    throw new DomainError("request.too_large", message);
  }
  context.io.onLine(`Fetching ${pointers.size} files of Git LFS (${Math.ceil(bytes / 2 ** 20)} MiB)`, "stdout");
  const store = join(mirrorFolder(context.place.folder, remote), "lfs", "objects");
  await fetchObjects(context, remote, commit, store, wanted);
  for (const [path, { oid }] of pointers) await replaceFile(objectFile(store, oid), join(folder, path));
  return bytes;
}

async function usesLfs(folder: string, { files }: ArchiveContent): Promise<boolean> {
  for (const [path, { sizeBytes }] of files) {
    if (basename(path) !== ".gitattributes" || sizeBytes > ATTRIBUTES_BYTES_MAX) continue;
    if (namesLfs(await readFile(join(folder, path), "utf8"))) return true;
  }
  return false;
}

const ATTRIBUTES_BYTES_MAX = 1 << 20;

async function findPointers(folder: string, { files }: ArchiveContent): Promise<Map<string, LfsPointer>> {
  const found = new Map<string, LfsPointer>();
  for (const [path, { sizeBytes }] of files) {
    if (sizeBytes > POINTER_BYTES_MAX) continue;
    const pointer = parseLfsPointer(await readFile(join(folder, path), "utf8"));
    if (pointer !== undefined) found.set(path, pointer);
  }
  return found;
}

async function fetchObjects(
  context: GitContext,
  remote: Remote,
  commit: string,
  store: string,
  wanted: readonly LfsPointer[],
): Promise<void> {
  const absent: LfsPointer[] = [];
  for (const pointer of wanted) if (!(await isFile(objectFile(store, pointer.oid)))) absent.push(pointer);
  if (absent.length === 0) return;
  if (remote.url.scheme === "file") return copyLocal(decodeURIComponent(remote.url.path), store, absent);
  // An include would read other files of this machine.
  const config = ["config", "--no-includes", "--blob", `${commit}:.lfsconfig`, "--get", "lfs.url"];
  const { stdout } = await localGit(context, mirrorFolder(context.place.folder, remote), config);
  const server = await lfsServerOf(context, remote, stdout.trim() || undefined);
  await withGuardedHttp(context.allowedPrivateHosts, context.io.signal, async (http) => {
    for (let at = 0; at < absent.length; at += BATCH_MAX) {
      const downloads = await lfsDownloads(http, server, absent.slice(at, at + BATCH_MAX));
      await pLimit(DOWNLOADS_AT_ONCE).map(downloads, async (download) => {
        const { body } = await openDownload(http, download);
        await keepObject(body, objectFile(store, download.oid), download, new URL(download.href).host);
      });
    }
  });
}

/** A repository on this machine has its objects in its own folder. */
async function copyLocal(repository: string, store: string, absent: readonly LfsPointer[]): Promise<void> {
  for (const pointer of absent) {
    const files = [".git/lfs/objects", "lfs/objects"].map((place) => objectFile(join(repository, place), pointer.oid));
    const isThere = await Promise.all(files.map(isFile));
    const file = files.find((_file, index) => isThere[index]);
    if (file === undefined) {
      const message = `${repository} does not have the Git LFS object ${pointer.oid.slice(0, 12)}. Run git lfs fetch there.`;
      throw new DomainError("source.not_found", message);
    }
    await keepObject(createReadStream(file), objectFile(store, pointer.oid), pointer, repository);
  }
}

/** Stores an object under its final name only when size and hash match the pointer. */
async function keepObject(
  bytes: AsyncIterable<Uint8Array> & NodeJS.ReadableStream,
  file: string,
  { oid, sizeBytes }: LfsPointer,
  host: string,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${crypto.randomUUID()}`;
  const hash = createHash("sha256");
  let received = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      hash.update(chunk);
      done(
        received > sizeBytes ? brokenOff(host, new Error("a Git LFS file is longer than its pointer says")) : null,
        chunk,
      );
    },
  });
  try {
    await pipeline(bytes, check, createWriteStream(temporary, { mode: 0o600 }));
    if (hash.digest("hex") !== oid) throw brokenOff(host, new Error("a Git LFS file differs from its pointer"));
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw isDomainError(cause) ? cause : brokenOff(host, cause);
  }
}

/** Replaces the pointer by a new file with the same permissions. */
async function replaceFile(object: string, path: string): Promise<void> {
  const { mode } = await lstat(path);
  const temporary = `${path}.${crypto.randomUUID()}`;
  await copyFile(object, temporary, constants.COPYFILE_FICLONE);
  await chmod(temporary, mode & 0o777);
  await rename(temporary, path);
}

const objectFile = (store: string, oid: string): string => join(store, oid.slice(0, 2), oid.slice(2, 4), oid);

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
