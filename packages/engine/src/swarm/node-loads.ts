import { setTimeout as delay } from "node:timers/promises";
import type { NodeLoad } from "@berth/core/ports";
import type { Host } from "@berth/host";
import type { SwarmNode } from "./nodes.ts";

type Machine = Pick<SwarmNode, "id"> & { readonly host: Pick<Host, "files"> };

/** How much the machines of a cluster have to do. Read at most every few seconds, however often nodes are looked at. */
export class NodeLoads {
  readonly #known = new Map<string, { readonly atMs: number; readonly load: Promise<NodeLoad | null> }>();

  /** `null`: unknown, as of a machine that does not answer at once. */
  async of(node: Machine): Promise<NodeLoad | null> {
    const nowMs = performance.now();
    let last = this.#known.get(node.id);
    if (last === undefined || nowMs - last.atMs > KEPT_MS) {
      last = { atMs: nowMs, load: readLoad(node.host).catch(() => null) };
      this.#known.set(node.id, last);
    }
    return await Promise.race([last.load, delay(ANSWER_MS, null, { ref: false })]);
  }
}

const KEPT_MS = 10_000;
const ANSWER_MS = 1000;

async function readLoad({ files }: Machine["host"]): Promise<NodeLoad | null> {
  const [load, memory] = await Promise.all([files.read("/proc/loadavg"), files.read("/proc/meminfo")]);
  return loadOf(load?.toString() ?? "", memory?.toString() ?? "");
}

/** From `/proc/loadavg` and `/proc/meminfo`. */
export function loadOf(loadavg: string, meminfo: string): NodeLoad | null {
  const average = Number.parseFloat(loadavg);
  const bytesOf = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(meminfo)?.[1]) * 1024;
  const memoryUsedBytes = bytesOf("MemTotal") - bytesOf("MemAvailable");
  return Number.isNaN(average) || Number.isNaN(memoryUsedBytes) ? null : { average, memoryUsedBytes };
}
