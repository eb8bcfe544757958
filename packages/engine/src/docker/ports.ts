import { isDomainError } from "@berth/core";
import type Docker from "dockerode";
import { executeIn } from "./exec.ts";

/** Uses shell builtins only: many images lack `cat`. */
const SCRIPT =
  'for table in /proc/net/tcp /proc/net/tcp6; do while read -r line; do echo "$line"; done <"$table"; done';
const LISTENING = "0A";

/** TCP ports on which processes in the container listen, ascending. Empty when its image has no shell. */
export async function listeningPorts(docker: Docker, containerId: string): Promise<number[]> {
  try {
    const { output } = await executeIn(docker, containerId, SCRIPT, { timeoutSeconds: 10 });
    return portsOf(output);
  } catch (cause) {
    if (isDomainError(cause, "resource.not_running")) return [];
    throw cause;
  }
}

/** @param tables Content of `/proc/net/tcp` and `/proc/net/tcp6`. */
export function portsOf(tables: string): number[] {
  const ports = tables.split("\n").flatMap((row) => {
    const [, local = "", , state] = row.trim().split(/\s+/);
    // Docker's DNS resolver listens on this loopback address.
    const isOwn = state === LISTENING && !local.startsWith("0B00007F:");
    const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
    return isOwn && port > 0 ? [port] : [];
  });
  return [...new Set(ports)].sort((a, b) => a - b);
}
