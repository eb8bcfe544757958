import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const LISTENING = "0A";

/** TCP ports on which any of these processes listens, ascending. Only root sees the ports of other users' processes. */
export function listeningPorts(pids: readonly number[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf));
  const ports = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listeners(table, sockets));
  return [...new Set(ports)].sort((a, b) => a - b);
}

function listeners(table: string, sockets: ReadonlySet<string>): number[] {
  const [, ...rows] = attempt(() => readFileSync(table, "utf8").split("\n")) ?? [];
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode = ""] = row.trim().split(/\s+/);
    const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
    return state === LISTENING && sockets.has(inode) ? [port] : [];
  });
}

/** Inode numbers of a process's open sockets. */
function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const files = attempt(() => readdirSync(folder)) ?? [];
  return files.flatMap((file) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(attempt(() => readlinkSync(`${folder}/${file}`)) ?? "") ?? [];
    return inode ?? [];
  });
}

/** Processes may exit and close files meanwhile; a kernel without IPv6 has no table for it. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
