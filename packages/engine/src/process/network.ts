import { readdir, readFile, readlink } from "node:fs/promises";

const LISTENING = "0A";

/** TCP ports on which any of these processes listens, ascending. Only root sees the ports of other users' processes. */
export async function listeningPorts(pids: readonly number[]): Promise<number[]> {
  const sockets = new Set((await Promise.all(pids.map(socketsOf))).flat());
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((table) => listeners(table, sockets)));
  return [...new Set(tables.flat())].sort((a, b) => a - b);
}

async function listeners(table: string, sockets: ReadonlySet<string>): Promise<number[]> {
  const [, ...rows] = (await attempt(readFile(table, "utf8")))?.split("\n") ?? [];
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
    return state === LISTENING && sockets.has(inode) ? [port] : [];
  });
}

/** Inode numbers of a process's open sockets. */
async function socketsOf(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const files = (await attempt(readdir(folder))) ?? [];
  const targets = await Promise.all(files.map((file) => attempt(readlink(`${folder}/${file}`))));
  return targets.flatMap((target) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(target ?? "") ?? [];
    return inode ?? [];
  });
}

/** Processes may exit and close files meanwhile; a kernel without IPv6 has no table for it. */
async function attempt<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
