import {
  ClusterCreate,
  ClusterJoin,
  ClusterLeave,
  type ClusterNode,
  type ClusterNodeUpdate,
  ENGINES,
  readLabel,
} from "@berth/core/server";
import type { Command } from "commander";
import { choose, matchingCandidates } from "../choose.ts";
import { dataOf, labelsOf, nameOf, sayWhereToPoint, showNodes, warnOfTolerance } from "../cluster-nodes.ts";
import type { Bind } from "../command-module.ts";
import type { Client } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, collected, flagsFor, valuesOf } from "../flags.ts";
import { addWaitFlag, followJob } from "../follow/job.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import type { WaitingLine } from "../follow/waiting.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

type ClusterOptions = Readonly<Record<string, unknown>>;

export function define(command: Command, bind: Bind): void {
  const nodes = command.command("nodes", { isDefault: true }).description("List the nodes of a cluster.");
  withCluster(nodes).action(bind(list));
  const create = command.command("create").description("Make a server the first manager of a new cluster.");
  addFlags(create.argument("<server>", "name or uuid"), CREATE, "On the way:");
  create.action(bind(created));
  const join = command.command("join").description("Add a server to a cluster.").argument("<server>", "name or uuid");
  addFlags(join, JOIN, "On the way:");
  withCluster(join).action(bind(joined));
  const leave = command.command("leave").description("Remove a server from its cluster.");
  addFlags(leave.argument("<server>", "name or uuid"), LEAVE, "On the way:");
  leave.action(bind(left));
  const rotate = command.command("rotate-tokens").description("Replace the tokens by which machines join a cluster.");
  withCluster(rotate).action(bind(rotated));
  const ingress = command
    .command("ingress")
    .description("Let a node take requests for the sites of the cluster, so that DNS may point to it too.")
    .argument("<node>", "its server, host name or id")
    .option("--off", "it no longer takes requests");
  withCluster(ingress).action(bind(ingressChanged));
  const label = command
    .command("label")
    .description("Set labels of a node, by which placement constraints choose nodes.")
    .argument("<node>", "its server, host name or id")
    .argument("[labels...]", "such as zone=a disk=ssd")
    .option("--remove <name>", "remove a label; can be repeated", collected);
  withCluster(label).action(bind(labelled));
  for (const [name, { summary, change }] of Object.entries(CHANGES)) {
    const own = command.command(name).description(summary).argument("<node>", "its server, host name or id");
    if ("availability" in change && change.availability === "drain") addWaitFlag(own);
    withCluster(own).action(
      bind((session: Session, node: string, options: ClusterOptions) => changed(session, node, options, change)),
    );
  }
}

const withCluster = (command: Command): Command =>
  command.option("--cluster <server>", "the server that manages it, if there are several");

const CREATE = flagsFor(ClusterCreate);
const JOIN = flagsFor(ClusterJoin.omit({ manager_uuid: true }));
const LEAVE = flagsFor(ClusterLeave);

const CHANGES = {
  promote: { summary: "Make a node a manager.", change: { role: "manager" } },
  demote: { summary: "Make a manager a worker.", change: { role: "worker" } },
  drain: { summary: "Move the containers of a node to others.", change: { availability: "drain" } },
  pause: { summary: "Keep new containers away from a node.", change: { availability: "pause" } },
  activate: { summary: "Let a node take containers again.", change: { availability: "active" } },
} as const;

async function list(session: Session, options: ClusterOptions): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const { uuid } = await clusterOf(client, options);
  const nodes = await client.clusterNodes.list.query({ uuid });
  output.show(nodes, () => showNodes(output, nodes));
}

async function created(session: Session, wanted: string, options: ClusterOptions): Promise<ExitCode> {
  const { client } = await session.connect();
  const { uuid } = await serverOf(client, wanted);
  return await followed(session, await client.clusters.create.mutate({ uuid, ...valuesOf(CREATE, options) }));
}

async function joined(session: Session, wanted: string, options: ClusterOptions): Promise<ExitCode> {
  const { client } = await session.connect();
  const { uuid } = await serverOf(client, wanted);
  const manager_uuid = (await clusterOf(client, options)).uuid;
  const asked = { uuid, manager_uuid, ...valuesOf(JOIN, options) };
  const before = await client.clusterNodes.list.query({ uuid: manager_uuid });
  const code = await followed(session, await client.clusters.join.mutate(asked));
  if (options.role !== "manager" && before.every(({ role }) => role === "manager"))
    session.output.warn(firstWorker(printable(wanted)));
  return code;
}

const firstWorker = (name: string): string =>
  `It is the first worker: from their next deployment on, applications run on workers alone, unless their is_swarm_only_worker_nodes is false. Make it a manager with: berth cluster promote ${name}`;

async function left(session: Session, wanted: string, options: ClusterOptions): Promise<ExitCode> {
  const { client } = await session.connect();
  const { uuid } = await serverOf(client, wanted);
  return await followed(session, await client.clusters.leave.mutate({ uuid, ...valuesOf(LEAVE, options) }));
}

async function rotated(session: Session, options: ClusterOptions): Promise<void> {
  const { client } = await session.connect();
  const { uuid } = await clusterOf(client, options);
  const answer = await client.clusters.rotateTokens.mutate({ uuid });
  session.output.show(answer, () => session.output.line(printable(answer.message)));
}

async function changed(
  session: Session,
  wanted: string,
  options: ClusterOptions,
  change: ClusterNodeUpdate,
): Promise<ExitCode> {
  const { output } = session;
  const { node: asked, cluster } = await changedNode(session, wanted, options, change);
  const isWaitedFor = change.availability === "drain" && options.wait !== false;
  const node = isWaitedFor ? await emptied(session, cluster, asked) : asked;
  if (node === undefined) {
    output.warn("It is still being drained. Check with: berth cluster");
    return EXIT.interrupted;
  }
  const { client } = await session.connect();
  const isListed = change.availability === "drain" || change.role !== undefined;
  const nodes = isListed ? await client.clusterNodes.list.query({ uuid: cluster }) : [];
  output.show(node, () => {
    output.line(
      `${nameOf(node)} is ${node.role === "manager" ? "a manager" : "a worker"}, ${STATES[node.availability]}.`,
    );
    if (change.role !== undefined) warnOfTolerance(output, nodes);
    if (node.availability === "drain" && !nodes.some(takesContainers))
      output.warn("No node of the cluster takes containers now, so nothing runs until one is activated.");
    if (node.availability === "drain" && node.storages > 0) {
      const count = node.storages === 1 ? "1 storage" : `${node.storages} storages`;
      const owners = node.data_of.length === 0 ? "" : ` (${dataOf(node)})`;
      output.line(`The data of ${count}${owners} is on it alone: what needs it waits until the node is active again.`);
    }
  });
  return EXIT.ok;
}

const takesContainers = ({ state, availability }: ClusterNode) => state === "ready" && availability === "active";

/** Waits until the containers of a node have stopped. @returns `undefined` after Ctrl-C */
async function emptied(session: Session, cluster: string, node: ClusterNode): Promise<ClusterNode | undefined> {
  const { output } = session;
  const { client } = await session.connect();
  let said = 0;
  const look = async (waiting: WaitingLine | undefined) => {
    const nodes = await client.clusterNodes.list.query({ uuid: cluster });
    const now = nodes.find(({ id }) => id === node.id);
    const left = now === undefined ? 0 : now.containers + now.containers_leaving;
    if (left === 0) return now ?? node;
    if (left !== said) {
      waiting?.clear();
      output.line(`${left === 1 ? "1 container is" : `${left} containers are`} still on ${nameOf(node)}`);
    }
    said = left;
    return undefined;
  };
  return await pollUntilEnded(session, look, "Waiting until its containers have stopped");
}

async function changedNode(
  session: Session,
  wanted: string,
  options: ClusterOptions,
  change: ClusterNodeUpdate,
): Promise<{ readonly node: ClusterNode; readonly cluster: string }> {
  const { client } = await session.connect();
  const { uuid } = await clusterOf(client, options);
  const nodes = await client.clusterNodes.list.query({ uuid });
  // A machine chooses its hostname itself, so another one's server name goes before it.
  const servers = nodes.flatMap((node) =>
    node.server_name === null ? [] : { ...node, uuid: node.id, name: node.server_name },
  );
  const machines = nodes.map((node) => ({ ...node, uuid: node.id, name: node.hostname }));
  const named = matchingCandidates(wanted, servers);
  const { id } = choose(wanted, named.length > 0 ? named : machines, { thing: "node" });
  return { node: await client.clusterNodes.update.mutate({ uuid, node_id: id, ...change }), cluster: uuid };
}

async function ingressChanged(session: Session, wanted: string, options: ClusterOptions): Promise<void> {
  const { output } = session;
  const { node, cluster: uuid } = await changedNode(session, wanted, options, { is_ingress: options.off !== true });
  const { client } = await session.connect();
  const nodes = await client.clusterNodes.list.query({ uuid });
  output.show(node, () => {
    output.line(`${nameOf(node)} takes ${node.is_ingress ? "requests of the cluster too" : "no requests any more"}.`);
    sayWhereToPoint(output, nodes);
  });
}

async function labelled(
  session: Session,
  wanted: string,
  pairs: readonly string[],
  options: ClusterOptions,
): Promise<void> {
  const { output } = session;
  const removed = Array.isArray(options.remove) ? options.remove.map(String) : [];
  if (pairs.length + removed.length === 0) {
    throw usage("No label to set. Type for example: berth cluster label NODE zone=a, or --remove zone");
  }
  const set = pairs.map((pair) => {
    const label = readLabel(pair);
    if (label === undefined) throw usage(`${printable(pair)} is not a label. Type NAME=VALUE, such as zone=a`);
    return label;
  });
  const labels = Object.fromEntries([...set, ...removed.map((name) => [name, null] as const)]);
  const { node } = await changedNode(session, wanted, options, { labels });
  output.show(node, () => {
    const all = labelsOf(node);
    output.line(all === "" ? `${nameOf(node)} has no labels.` : `Labels of ${nameOf(node)}: ${all}`);
  });
}

const STATES = { active: "active", pause: "paused", drain: "drained" } as const;

/** Waits for the validation that follows a change of a cluster. */
async function followed(
  session: Session,
  { message, job_uuid }: { readonly message: string; readonly job_uuid?: string | undefined },
): Promise<ExitCode> {
  const { output } = session;
  output.line(printable(message));
  const job = job_uuid === undefined ? undefined : await followJob(session, job_uuid);
  if (job === undefined) return EXIT.interrupted;
  return job.status === "finished" ? EXIT.ok : EXIT.failed;
}

const serverOf = async (client: Client, wanted: string) =>
  choose(wanted, await client.servers.list.query({}), { thing: "server" });

/** The server that manages the cluster: the one that was named, or the only one. */
async function clusterOf(client: Client, { cluster }: ClusterOptions) {
  const servers = await client.servers.list.query({});
  if (typeof cluster === "string") return choose(cluster, servers, { thing: "server" });
  const heads = servers.filter(({ engine }) => ENGINES[engine].isCluster);
  const [head, ...others] = heads;
  if (head === undefined) {
    throw new Failure("No server manages a cluster. Make one: berth cluster create SERVER");
  }
  if (others.length === 0) return head;
  const names = heads.map(({ name }) => printable(name)).join(", ");
  throw new Failure(`Several servers manage a cluster: ${names}. Name one with --cluster.`);
}
