import { posix } from "node:path";
import type { FileMount } from "@berth/core/deploy";
import { statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Access extends Owner {
  /** Readable by its owner only. Otherwise by all: images often start as root and switch to another user. */
  readonly isPrivate: boolean;
}

const ROOT: Owner = { uid: 0, gid: 0 };

/**
 * Copies files into a container that does not run. They lie in its own layer, readable only by its processes and root,
 * so that no copy lies on the server and every release has its own.
 */
export async function putFiles(container: Docker.Container, files: readonly FileMount[], user: string): Promise<void> {
  if (files.length === 0) return;
  const accounts = await accountsOf(container, files, user);
  const entries = files.map((file) => {
    const { isPrivate, ...owner } = accessTo(file, accounts, user);
    const mode = isPrivate ? 0o600 : 0o644;
    return { ...file, ...owner, mode: file.isReadOnly === true ? mode & 0o444 : mode };
  });
  await putEntries(container, entries);
}

/** A file as it will be created in a container. */
export interface FileEntry extends Owner {
  readonly mountPath: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

export async function putEntries(container: Docker.Container, entries: readonly FileEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const tar = await import("tar");
  const archive = Buffer.concat([...entries.map((entry) => entryOf(tar, entry)), Buffer.alloc(1024)]);
  await container.putArchive(archive, { path: "/", noOverwriteDirNonDir: "1" });
}

type Tar = Pick<typeof import("tar"), "Header" | "Pax">;

function entryOf({ Header, Pax }: Tar, { mountPath, content, mode, uid, gid }: FileEntry): Buffer {
  const body = Buffer.from(content);
  const fields = {
    path: posix.relative("/", mountPath),
    mode,
    uid,
    gid,
    size: body.length,
    mtime: new Date(0),
    type: "File" as const,
  };
  const header = new Header(fields);
  const head = Buffer.alloc(512);
  const needsPax = header.encode(head);
  const pax = needsPax ? new Pax(fields).encode() : Buffer.alloc(0);
  return Buffer.concat([pax, head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

type Accounts = ReadonlyMap<string, Owner>;

/** Users of the image; empty when no user has to be resolved by name. */
async function accountsOf(container: Docker.Container, files: readonly FileMount[], user: string): Promise<Accounts> {
  const isNamed = !isRoot(user) && !/^\d+(:|$)/.test(user);
  if (!isNamed && files.every(({ readers }) => readers === undefined)) return new Map();
  const accounts = (await readFile(container, "/etc/passwd")).matchAll(/^([^:\n]+):[^:\n]*:(\d+):(\d+):/gm);
  return new Map([...accounts].map(([, name = "", uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]));
}

function accessTo({ readers }: FileMount, accounts: Accounts, user: string): Access {
  const owner = ownerOf(user, accounts);
  if (readers === undefined) return { ...owner, isPrivate: false };
  // A container that does not start as root cannot change its user.
  if (!isRoot(user)) return { ...owner, isPrivate: true };
  const [reader] = readers.flatMap((name) => accounts.get(name) ?? []);
  // The user that this image switches to is unknown, but only its processes see the file.
  return reader === undefined ? { ...owner, isPrivate: false } : { ...reader, isPrivate: true };
}

/**
 * The user of the container's processes. @param user From the image or the options: name or number, optionally with a
 * group.
 */
function ownerOf(user: string, accounts: Accounts): Owner {
  const [name = "", group] = user.split(":");
  if (/^\d+$/.test(name)) return { uid: Number(name), gid: /^\d+$/.test(group ?? "") ? Number(group) : 0 };
  return accounts.get(name) ?? ROOT;
}

const isRoot = (user: string): boolean => /^(root|0)?(:|$)/.test(user);

/** Content of a small file; empty when it does not exist. Longer files are cut, since an image may contain anything. */
async function readFile(container: Docker.Container, path: string): Promise<string> {
  try {
    const archive = await container.getArchive({ path });
    const chunks: Buffer[] = [];
    const { Parser } = await import("tar");
    const parser = new Parser();
    parser.on("entry", (entry) => entry.on("data", (chunk: Buffer) => chunks.push(chunk)));
    let bytes = 0;
    for await (const chunk of archive) {
      parser.write(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes > FILE_BYTES_MAX) break;
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return "";
    throw cause;
  }
}

const FILE_BYTES_MAX = 1 << 20;
