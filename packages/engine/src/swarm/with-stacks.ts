import { DomainError, isServerAway } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { waitsForHead } from "@berth/core/server";
import type { StackSpec } from "../docker/compose/spec.ts";
import { isStack } from "../docker/compose/start.ts";
import { type DockerEngine, STOP_GRACE_SECONDS } from "../docker/engine.ts";
import { answered } from "./answered.ts";
import type { SwarmEngine } from "./engine.ts";
import type { ManagingNode } from "./managing-node.ts";
import { fittingPlan } from "./stack.ts";

/**
 * A swarm that also knows the stacks which run as containers of the manager alone, as all did before they became
 * services. Their next deployment makes services of them, on the manager if they have volumes there. While another
 * manager replaces it, they wait for it, and are shown as they were.
 */
export function withStacks(
  swarm: SwarmEngine,
  manager: DockerEngine,
  { managing, instance }: WithStacksOptions,
): SwarmEngine {
  /** As listed last. */
  let known: readonly ReleaseState[] | undefined;
  const engineOf = async (ref: ReleaseRef) =>
    swarm.hasSeen(ref) || (await swarm.inspect(ref)) !== undefined ? swarm : stacks;
  const isKnown = (ref: ReleaseRef) => known?.some(({ deploymentUuid }) => deploymentUuid === ref.deploymentUuid);

  async function listStacks(): Promise<readonly ReleaseState[]> {
    const isReplaced = (await managing.substitute()) !== undefined;
    const listed = isReplaced ? await answered(manager.list()) : await manager.list();
    if (listed !== undefined) known = listed;
    // Without having seen them, nobody knows which of them run.
    return known ?? (await stacks.list());
  }

  async function inspectStack(ref: ReleaseRef): Promise<ReleaseState | undefined> {
    if (!managing.hasSubstitute() || known === undefined) return await stacks.inspect(ref);
    const asked = await answered(manager.inspect(ref).then((state) => ({ state })));
    return asked === undefined ? known.find((one) => one.deploymentUuid === ref.deploymentUuid) : asked.state;
  }

  /** Says what waits for the manager and why, while another one replaces it. */
  const waiting =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await call(...args);
      } catch (cause) {
        if (!isServerAway(cause) || (await managing.substitute()) === undefined) throw cause;
        throw new DomainError(cause.code, waitsForHead(cause.message, managing.headName()), { cause });
      }
    };
  const stacks = {
    ...manager,
    containers: {
      ...manager.containers,
      command: waiting(manager.containers.command),
      terminal: waiting(manager.containers.terminal),
      ownCheck: waiting(manager.containers.ownCheck),
    },
    start: waiting(manager.start),
    resume: waiting(manager.resume),
    stop: waiting(manager.stop),
    remove: waiting(manager.remove),
    inspect: waiting(manager.inspect),
    list: waiting(manager.list),
    exec: waiting(manager.exec),
    volumesOf: waiting(manager.volumesOf),
    removeVolumes: waiting(manager.removeVolumes),
    removeResource: waiting(manager.removeResource),
  } satisfies DockerEngine;

  /** Its containers and the services cannot share what they write to. */
  async function stopEarlier({ resourceUuid, stack, ...spec }: StackSpec, { onLine }: WorkIO): Promise<void> {
    const { replaces } = stack;
    const earlier = replaces && { resourceUuid, deploymentUuid: replaces.deploymentUuid };
    if (earlier === undefined || (await swarm.inspect(earlier)) !== undefined) return;
    if ((await inspectStack(earlier)) === undefined) return;
    fittingPlan({ ...spec, resourceUuid, stack }, instance);
    onLine("Stops the previous release, which ran on one node alone", "stdout");
    await stacks.stop(earlier, { graceSeconds: STOP_GRACE_SECONDS });
  }

  return {
    ...swarm,
    containers: {
      ...swarm.containers,
      command: async (ref, command, io) => (await engineOf(ref)).containers.command(ref, command, io),
      terminal: async (ref, size, options) => (await engineOf(ref)).containers.terminal(ref, size, options),
      ownCheck: async (ref, signal, container) => (await engineOf(ref)).containers.ownCheck(ref, signal, container),
      // Services name networks of the cluster alone, which each manager knows.
      ownersOf: (objects) => (managing.hasSubstitute() ? swarm : stacks).containers.ownersOf(objects),
    },
    async close() {
      await Promise.all([swarm.close(), manager.close({ stopReleases: false })]);
    },
    async start(spec, io) {
      const isService = !isStack(spec) || (await swarm.inspect(spec)) !== undefined;
      if (isService) return await swarm.start(spec, io);
      if ((await inspectStack(spec)) !== undefined) return await stacks.start(replacingAll(spec), io);
      await stopEarlier(spec, io);
      return await swarm.start(spec, io);
    },
    resume: async (ref) => (await engineOf(ref)).resume(ref),
    takeName: async (ref) => (await engineOf(ref)).takeName(ref),
    stop: async (ref, options) => (await engineOf(ref)).stop(ref, options),
    async remove(ref, options) {
      const isService = (await swarm.inspect(ref)) !== undefined;
      await swarm.remove(ref, options);
      // Of a service, the manager has images at most, which the cleanup of the server removes when it is back.
      const hasStack = !isService && isKnown(ref) !== false;
      if (hasStack || !managing.hasSubstitute()) await stacks.remove(ref, options);
    },
    inspect: async (ref) => (await swarm.inspect(ref)) ?? (await inspectStack(ref)),
    list: async () => (await Promise.all([swarm.list(), listStacks()])).flat(),
    lastSeen() {
      const tasks = swarm.lastSeen();
      const own = manager.lastSeen() ?? (managing.hasSubstitute() ? known : undefined);
      return tasks && own && [...tasks, ...own];
    },
    exec: async (ref, script, options) => (await engineOf(ref)).exec(ref, script, options),
    async *logs(ref, query) {
      yield* (await engineOf(ref)).logs(ref, query);
    },
    listeningPorts: async (ref) => (await engineOf(ref)).listeningPorts(ref),
    async volumesOf(ref) {
      const isService = managing.hasSubstitute() && (await swarm.inspect(ref)) !== undefined;
      return (await Promise.all([swarm.volumesOf(ref), isService ? [] : stacks.volumesOf(ref)])).flat();
    },
    async removeVolumes(resourceUuid, volumes) {
      await swarm.removeVolumes(resourceUuid, volumes);
      await stacks.removeVolumes(resourceUuid, volumes);
    },
    async removeResource(resourceUuid, removal) {
      await swarm.removeResource(resourceUuid, removal);
      await stacks.removeResource(resourceUuid, removal);
    },
    usage: async (ref) => (await engineOf(ref)).usage(ref),
    onStateChange(listener) {
      const stops = [swarm.onStateChange(listener), manager.onStateChange(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

interface WithStacksOptions {
  readonly managing: Pick<ManagingNode, "substitute" | "hasSubstitute" | "headName">;
  /** Id of this Berth instance. */
  readonly instance: string;
}

/** A kept container would be renamed, which engines refuse in an overlay network. */
function replacingAll(spec: StackSpec): StackSpec {
  const { replaces } = spec.stack;
  return replaces === undefined
    ? spec
    : { ...spec, stack: { ...spec.stack, replaces: { ...replaces, keeps: "none" } } };
}
