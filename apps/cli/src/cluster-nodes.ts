import { type ClusterNode, ingressAddresses, labelTexts, toleranceWarning } from "@berth/core/server";
import { cell, type Output } from "./output.ts";
import { printable } from "./printable.ts";

export function showNodes(output: Output, nodes: readonly ClusterNode[]): void {
  const { colors } = output;
  output.table(
    ["NODE", "SERVER", "ROLE", "STATE", "AVAILABILITY", "LOAD", "MEMORY", "CONTAINERS", "INGRESS", "ID"],
    nodes.map((node) => [
      cell(node.hostname),
      node.server_name === null ? colors.yellow("none") : cell(node.server_name),
      node.is_leader ? "leader" : node.role,
      node.state === "ready" ? colors.green(node.state) : colors.red(cell(node.state)),
      node.availability,
      loadText(node),
      memoryText(node),
      String(node.containers),
      node.is_ingress ? "yes" : "",
      cell(node.id),
    ]),
  );
  for (const node of nodes) {
    const running = node.resources.map(({ name, containers }) => `${printable(name)} (${containers})`);
    if (running.length > 0) output.line(`On ${nameOf(node)}: ${running.join(", ")}`);
    if (node.data_of.length > 0) output.line(`Data on ${nameOf(node)} alone: ${dataOf(node)}`);
    const labels = labelsOf(node);
    if (labels !== "") output.line(`Labels of ${nameOf(node)}: ${labels}`);
  }
  sayWhereToPoint(output, nodes);
  warnOfTolerance(output, nodes);
}

export function warnOfTolerance(output: Output, nodes: readonly ClusterNode[]): void {
  const warning = toleranceWarning(nodes.filter(({ role }) => role === "manager").length);
  if (warning !== null) output.warn(warning);
}

export const dataOf = ({ data_of }: ClusterNode) => data_of.map(({ name }) => printable(name)).join(", ");

export const labelsOf = ({ labels }: ClusterNode) => labelTexts(labels).map(printable).join(", ");

const loadText = ({ load_average, cpus }: ClusterNode) =>
  load_average === null ? "-" : `${load_average.toFixed(1)}${cpus === null ? "" : ` of ${cpus}`}`;

const memoryText = ({ memory_used_bytes: used, memory_bytes: all }: ClusterNode) =>
  used === null || all === null ? "-" : `${Math.round((used / all) * 100)} %`;

export function sayWhereToPoint(output: Output, nodes: readonly ClusterNode[]): void {
  const { ready, down } = ingressAddresses(nodes);
  const shown = (addresses: readonly string[]) => addresses.map(printable).join(", ");
  if (ready.length > 0) output.line(`Point the names of its sites at: ${shown(ready)}`);
  if (down.length > 0) output.warn(`Leave out until it answers again: ${shown(down)}`);
}

export const nameOf = ({ server_name, hostname }: Pick<ClusterNode, "server_name" | "hostname">) =>
  printable(server_name ?? hostname);
