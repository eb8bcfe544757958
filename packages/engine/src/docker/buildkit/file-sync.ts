import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { followedLinks } from "./followed-links.ts";
import { BrokenOff, GRPC_CODES, GrpcError, type ServerCall } from "./grpc.ts";
import type { Packet } from "./messages.ts";
import { isRegular, type Selection, sourceTree } from "./source-tree.ts";

/** A folder of Berth's machine that an engine may read from. */
export interface SharedFolder {
  /** Real path of the folder. */
  readonly path: string;
  /** The only files that it may read. Default: all. */
  readonly only?: readonly string[] | undefined;
}

type Call = ServerCall<Packet, Packet>;

/**
 * Sends files of a folder to an engine: reports every file, then sends those that it requests.
 * https://github.com/tonistiigi/fsutil
 */
export async function sendFiles(call: Call, folders: Readonly<Record<string, SharedFolder>>): Promise<void> {
  const [name = ""] = call.header("dir-name");
  const folder = Object.hasOwn(folders, name) ? folders[name] : undefined;
  if (folder === undefined) throw new GrpcError(GRPC_CODES.notFound, `This build has no folder "${name}".`);
  const write = inTurn(call);
  const files = new Map<number, string>();
  try {
    await Promise.all([sendList(call, folder, files, write), answer(call, folder, files, write)]);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    await write({ type: PACKETS.error, data: Buffer.from(message) }).catch(() => undefined);
    throw cause;
  }
}

type Write = (packet: Packet) => Promise<void>;

/** Reports and data share the stream: each packet waits until the previous one is sent. */
function inTurn(call: Call): Write {
  let last: Promise<void> = Promise.resolve();
  return (packet) => {
    last = last.then(() => call.write(packet));
    return last;
  };
}

async function sendList(call: Call, folder: SharedFolder, files: Map<number, string>, write: Write): Promise<void> {
  let id = 0;
  for await (const stat of sourceTree(folder.path, await selectionOf(call, folder))) {
    if (isRegular(stat)) files.set(id, stat.path);
    id += 1;
    await write({ type: PACKETS.stat, stat });
  }
  // An empty packet marks the end of the list.
  await write({ type: PACKETS.stat });
}

async function selectionOf(call: Call, { path, only }: SharedFolder): Promise<Selection> {
  const exclude = values(call, "exclude-patterns");
  if (only !== undefined) return { include: only, exclude };
  const followed = values(call, "followpaths");
  const links = followed.length === 0 ? [] : await followedLinks(path, followed);
  // One of the paths is the folder itself, which selects everything.
  if (followed.length > 0 && links.length === 0) return { include: [], exclude };
  return { include: [...values(call, "include-patterns"), ...links], exclude };
}

async function answer(
  call: Call,
  folder: SharedFolder,
  files: ReadonlyMap<number, string>,
  write: Write,
): Promise<void> {
  const failure = Promise.withResolvers<never>();
  let sending: Promise<void> = Promise.resolve();
  const answering = async () => {
    for await (const { type, ID = 0, data } of call.requests) {
      if (type === PACKETS.error) throw new Error(Buffer.from(data ?? []).toString("utf8"));
      if (type === PACKETS.end) {
        await sending;
        return await write({ type: PACKETS.end });
      }
      if (type !== PACKETS.request) continue;
      const path = files.get(ID);
      if (path === undefined) throw new BrokenOff(`No file has the number ${ID}.`);
      sending = sending.then(() => sendFile(join(folder.path, path), ID, write));
      // Without this the engine would wait for the rest of the file.
      sending.catch(failure.reject);
    }
  };
  await Promise.race([failure.promise, answering()]);
}

async function sendFile(file: string, ID: number, write: Write): Promise<void> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    for (;;) {
      // A new buffer for each packet: earlier ones are still being sent.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES));
      if (bytesRead === 0) break;
      await write({ type: PACKETS.data, ID, data: buffer.subarray(0, bytesRead) });
    }
  } finally {
    await handle.close();
  }
  await write({ type: PACKETS.data, ID });
}

/** Values that are not ASCII are URL-encoded; a header of its own says so. */
function values(call: Call, name: string): string[] {
  const found = call.header(name);
  const [encoded] = call.header(`${name}-encoded`);
  if (encoded !== "1" && encoded !== "true") return [...found];
  return found.map((value) => decodeURIComponent(value.replaceAll("+", " ")));
}

const PACKETS = { stat: 0, request: 1, data: 2, end: 3, error: 4 } as const;
const CHUNK_BYTES = 32 << 10; // Same size as the engine's own clients.
