import type { Outputs } from "../api/client.ts";
import type { ShownState } from "../parts/state.tsx";

/** A machine of a cluster. */
export type Node = Outputs["clusterNodes"]["list"][number];

type SeenNode = Pick<Node, "state" | "availability" | "is_reachable" | "containers_leaving">;

/** State of a machine of a cluster, as its managers see it. */
export function nodeState({ state, availability, is_reachable, containers_leaving }: SeenNode): ShownState {
  if (state !== "ready") {
    const word = STATES.get(state) ?? "Unknown";
    return { tone: "bad", word, reason: "The managers do not reach it. Its containers start on other nodes." };
  }
  if (is_reachable === false) return { tone: "bad", word: "Cut off", reason: "The other managers do not reach it." };
  if (availability === "pause") {
    return { tone: "warn", word: "Paused", reason: "It keeps its containers and gets no new ones." };
  }
  if (availability === "drain") {
    return containers_leaving > 0
      ? { tone: "busy", word: "Draining", reason: "Its containers are being stopped." }
      : { tone: "off", word: "Drained", reason: "It gets containers again once it is activated." };
  }
  return { tone: "good", word: "Ready" };
}

const STATES: ReadonlyMap<string, string> = new Map([
  ["down", "Down"],
  ["disconnected", "Disconnected"],
]);
