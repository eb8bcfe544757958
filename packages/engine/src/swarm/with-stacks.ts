import type { ReleaseRef } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { StackSpec } from "../docker/compose/spec.ts";
import { isStack } from "../docker/compose/start.ts";
import { type DockerEngine, STOP_GRACE_SECONDS } from "../docker/engine.ts";
import type { SwarmEngine } from "./engine.ts";
import { fittingPlan } from "./stack.ts";

/**
 * A swarm that also knows the stacks which run as containers of the manager alone, as all did before they became
 * services. Their next deployment makes services of them, on the manager if they have volumes there.
 */
export function withStacks(swarm: SwarmEngine, manager: DockerEngine, instance: string): SwarmEngine {
  const engineOf = async (ref: ReleaseRef) => ((await swarm.inspect(ref)) === undefined ? manager : swarm);

  /** Its containers and the services cannot share what they write to. */
  async function stopEarlier({ resourceUuid, stack, ...spec }: StackSpec, { onLine }: WorkIO): Promise<void> {
    const { replaces } = stack;
    const earlier = replaces && { resourceUuid, deploymentUuid: replaces.deploymentUuid };
    if (earlier === undefined || (await manager.inspect(earlier)) === undefined) return;
    fittingPlan({ ...spec, resourceUuid, stack }, instance);
    onLine("Stops the previous release, which ran on one node alone", "stdout");
    await manager.stop(earlier, { graceSeconds: STOP_GRACE_SECONDS });
  }

  return {
    ...swarm,
    containers: {
      ...swarm.containers,
      command: async (ref, command, io) => (await engineOf(ref)).containers.command(ref, command, io),
      terminal: async (ref, size, options) => (await engineOf(ref)).containers.terminal(ref, size, options),
      ownCheck: async (ref, signal, container) => (await engineOf(ref)).containers.ownCheck(ref, signal, container),
      ownersOf: (objects) => manager.containers.ownersOf(objects),
    },
    async close() {
      await Promise.all([swarm.close(), manager.close({ stopReleases: false })]);
    },
    async start(spec, io) {
      if (!isStack(spec)) return await swarm.start(spec, io);
      if ((await manager.inspect(spec)) !== undefined) return await manager.start(replacingAll(spec), io);
      await stopEarlier(spec, io);
      return await swarm.start(spec, io);
    },
    resume: async (ref) => (await engineOf(ref)).resume(ref),
    takeName: async (ref) => (await engineOf(ref)).takeName(ref),
    stop: async (ref, options) => (await engineOf(ref)).stop(ref, options),
    async remove(ref, options) {
      await swarm.remove(ref, options);
      await manager.remove(ref, options);
    },
    inspect: async (ref) => (await swarm.inspect(ref)) ?? (await manager.inspect(ref)),
    list: async () => (await Promise.all([swarm.list(), manager.list()])).flat(),
    lastSeen() {
      const [tasks, stacks] = [swarm.lastSeen(), manager.lastSeen()];
      return tasks && stacks && [...tasks, ...stacks];
    },
    exec: async (ref, script, options) => (await engineOf(ref)).exec(ref, script, options),
    async *logs(ref, query) {
      yield* (await engineOf(ref)).logs(ref, query);
    },
    listeningPorts: async (ref) => (await engineOf(ref)).listeningPorts(ref),
    volumesOf: async (ref) => (await Promise.all([swarm.volumesOf(ref), manager.volumesOf(ref)])).flat(),
    async removeVolumes(resourceUuid, volumes) {
      await swarm.removeVolumes(resourceUuid, volumes);
      await manager.removeVolumes(resourceUuid, volumes);
    },
    async removeResource(resourceUuid, removal) {
      await swarm.removeResource(resourceUuid, removal);
      await manager.removeResource(resourceUuid, removal);
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

/** A kept container would be renamed, which engines refuse in an overlay network. */
function replacingAll(spec: StackSpec): StackSpec {
  const { replaces } = spec.stack;
  return replaces === undefined
    ? spec
    : { ...spec, stack: { ...spec.stack, replaces: { ...replaces, keeps: "none" } } };
}
