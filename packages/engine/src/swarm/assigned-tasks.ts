import { LABELS, labelOf } from "@berth/docker-client";
import type { ReleasePart } from "../docker/state.ts";
import type { Services, Task } from "./services.ts";

/**
 * The containers that nodes report, without those that no manager gave them: a node writes its own answers, so it could
 * offer a container under the labels of any release, and get its requests, commands and files.
 */
export class AssignedTasks {
  readonly #services: Pick<Services, "assignedTo">;
  /** By node and container. `undefined`: the managers gave the node no such task. */
  readonly #tasks = new Map<string, Map<string, Task | undefined>>();

  constructor(services: Pick<Services, "assignedTo">) {
    this.#services = services;
  }

  /** Asks the managers about containers that are not known yet. */
  async of(nodeId: string, parts: readonly ReleasePart[]): Promise<readonly ReleasePart[]> {
    const known = this.#tasks.get(nodeId) ?? new Map<string, Task | undefined>();
    this.#tasks.set(nodeId, known);
    // Read before the managers are asked, since it may be forgotten meanwhile.
    const remembered = parts.map(({ id }) => (known.has(id) ? { task: known.get(id) } : undefined));
    const asked = remembered.includes(undefined) ? await this.#services.assignedTo(nodeId) : [];
    const tasks = new Map(asked.map((task) => [task.ID, task]));
    return parts.flatMap((part, at) => {
      const { task } = remembered[at] ?? { task: taskOf(part, tasks) };
      known.set(part.id, task);
      return confirmed(part, task);
    });
  }

  /** Those of them that the managers are known to have given to the node; `undefined` if they were not asked yet. */
  known(nodeId: string, parts: readonly ReleasePart[]): readonly ReleasePart[] | undefined {
    const known = this.#tasks.get(nodeId);
    if (parts.some(({ id }) => known?.has(id) !== true)) return undefined;
    return parts.flatMap((part) => confirmed(part, known?.get(part.id)));
  }

  /** Forgets containers that no longer exist, and asks again about those that were refused. */
  keepOnly(nodeId: string, parts: readonly ReleasePart[]): void {
    const ids = new Set(parts.map(({ id }) => id));
    const known = this.#tasks.get(nodeId);
    for (const [id, task] of known ?? []) if (task === undefined || !ids.has(id)) known?.delete(id);
  }
}

/** The task that a container says it is, if it is one of the release that the container says. */
function taskOf({ task: id, state }: ReleasePart, tasks: ReadonlyMap<string, Task>): Task | undefined {
  const task = id === undefined ? undefined : tasks.get(id);
  const deployment = labelOf(task?.Spec.ContainerSpec?.Labels ?? {}, LABELS.deployment);
  return deployment === state.deploymentUuid ? task : undefined;
}

/** Requests go only to addresses that the managers gave, as the proxy could reach others that clients cannot. */
function confirmed(part: ReleasePart, task: Task | undefined): readonly ReleasePart[] {
  if (task === undefined) return [];
  const { container } = part;
  const given = (task.NetworksAttachments ?? []).flatMap(({ Addresses }) => Addresses ?? []);
  const isGiven = given.some((address) => address.split("/")[0] === container.address);
  return [isGiven || container.address === null ? part : { ...part, container: { ...container, address: null } }];
}
