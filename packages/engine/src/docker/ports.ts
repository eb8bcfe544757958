import { isDomainError } from "@berth/core";
import type { ListeningPort } from "@berth/core/ports";
import type Docker from "dockerode";
import { executeIn } from "./exec.ts";

/** Uses shell builtins only: many images lack `cat`. */
const SCRIPT =
  'for table in /proc/net/tcp /proc/net/tcp6; do while read -r line; do echo "$line"; done <"$table"; done';
const LISTENING = "0A";

/** TCP ports on which processes in the container listen, ascending. Empty when its image has no shell. */
export async function listeningPorts(docker: Docker, containerId: string): Promise<ListeningPort[]> {
  try {
    const { output } = await executeIn(docker, containerId, SCRIPT, { timeoutSeconds: 10 });
    return portsOf(output);
  } catch (cause) {
    if (isDomainError(cause, "resource.not_running")) return [];
    throw cause;
  }
}

/** @param tables Content of `/proc/net/tcp` and `/proc/net/tcp6`. */
export function portsOf(tables: string): ListeningPort[] {
  const sockets = tables.split("\n").flatMap((row) => {
    const [, local = "", , state] = row.trim().split(/\s+/);
    // Docker's DNS resolver listens on this loopback address.
    const isOwn = state === LISTENING && !local.startsWith("0B00007F:");
    const [address = "", hex = ""] = local.split(":");
    const port = Number.parseInt(hex, 16);
    return isOwn && port > 0 ? [{ port, loopback: loopbackOf(address) }] : [];
  });
  const open = new Set(sockets.flatMap(({ port, loopback }) => (loopback === undefined ? port : [])));
  // Of several sockets with one port, the first names its address.
  const loopbacks = new Map(sockets.toReversed().map(({ port, loopback }) => [port, loopback]));
  return [...loopbacks.entries()]
    .sort(([one], [other]) => one - other)
    .map(([port, loopback]) => (loopback === undefined || open.has(port) ? { port } : { port, loopback }));
}

/** The kernel writes each four bytes of an address in the machine's order, which is reversed here. */
function loopbackOf(address: string): ListeningPort["loopback"] {
  if (/^(0{16}FFFF0000)?[\dA-F]{6}7F$/.test(address)) return "127.0.0.1";
  return address === `${"0".repeat(24)}01000000` ? "::1" : undefined;
}
