import type { ClusterNode } from "./nodes.ts";

/**
 * Whether a node fulfils conditions in Swarm's form, as far as Berth can tell: one for an address or an unknown key is
 * left to the swarm.
 */
export const fulfils = (node: ClusterNode, constraints: readonly string[]): boolean =>
  constraints.every((constraint) => {
    const [, key = "", operator = "", wanted = ""] = /^([^=!]+)(==|!=)(.*)$/.exec(constraint) ?? [];
    const value = attributeOf(node, key);
    // Swarm compares without regard to case.
    return value === undefined || (value.toLowerCase() === wanted.toLowerCase()) === (operator === "==");
  });

function attributeOf(node: ClusterNode, key: string): string | undefined {
  if (key.startsWith(NODE_LABELS)) return node.labels[key.slice(NODE_LABELS.length)] ?? "";
  if (key.startsWith(ENGINE_LABELS)) return node.engineLabels[key.slice(ENGINE_LABELS.length)] ?? "";
  return {
    "node.id": node.id,
    "node.hostname": node.hostname,
    "node.role": node.isManager ? "manager" : "worker",
    "node.platform.os": node.os,
    "node.platform.arch": node.architecture,
  }[key];
}

const NODE_LABELS = "node.labels.";
const ENGINE_LABELS = "engine.labels.";
