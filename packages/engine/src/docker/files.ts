import { posix } from "node:path";
import type { FileMount } from "@berth/core";
import type Docker from "dockerode";
import { Header, Parser, Pax } from "tar";
import { statusCodeOf } from "./client.ts";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const ROOT: Owner = { uid: 0, gid: 0 };

/**
 * Puts files into a container that does not run: into its own layer, where only its processes and the server's root read
 * them, so that no copy lies on the server and every release has its own.
 */
export async function putFiles(container: Docker.Container, files: readonly FileMount[], user: string): Promise<void> {
  if (files.length === 0) return;
  const owner = await ownerOf(container, user);
  const archive = Buffer.concat([...files.map((file) => entryOf(file, owner)), Buffer.alloc(1024)]);
  await container.putArchive(archive, { path: "/", noOverwriteDirNonDir: "1" });
}

function entryOf({ mountPath, content, isReadOnly }: FileMount, { uid, gid }: Owner): Buffer {
  const body = Buffer.from(content);
  const fields = {
    path: posix.relative("/", mountPath),
    // Images often begin as root and go on as somebody else.
    mode: isReadOnly === true ? 0o444 : 0o644,
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

/** Whom the container's processes run as. @param user Of the image or the options: a name or number, and a group or none. */
async function ownerOf(container: Docker.Container, user: string): Promise<Owner> {
  const [name = "", group] = user.split(":");
  if (name === "" || name === "root") return ROOT;
  if (/^\d+$/.test(name)) return { uid: Number(name), gid: /^\d+$/.test(group ?? "") ? Number(group) : 0 };
  const accounts = await readFile(container, "/etc/passwd");
  const [, , uid, gid] =
    accounts
      .split("\n")
      .find((line) => line.startsWith(`${name}:`))
      ?.split(":") ?? [];
  return uid === undefined ? ROOT : { uid: Number(uid), gid: Number(gid) };
}

/** Empty when there is none. */
async function readFile(container: Docker.Container, path: string): Promise<string> {
  try {
    const archive = await container.getArchive({ path });
    const chunks: Buffer[] = [];
    const parser = new Parser();
    parser.on("entry", (entry) => entry.on("data", (chunk: Buffer) => chunks.push(chunk)));
    for await (const chunk of archive) parser.write(Buffer.from(chunk));
    parser.end();
    return Buffer.concat(chunks).toString("utf8");
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return "";
    throw cause;
  }
}
