import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { expect, test } from "vitest";
import type { DockerEngine } from "../docker/engine.ts";
import type { SwarmEngine } from "./engine.ts";
import { withStacks } from "./with-stacks.ts";

const refOf = (name: string): ReleaseRef => ({ resourceUuid: name, deploymentUuid: name });
const stateOf = (name: string) => ({ ...refOf(name), state: "running" }) as ReleaseState; // Only what is read here.

/** A cluster with the service `web` and the stack `shop`, whose manager a test can take away. */
function cluster() {
  const world = { substitute: undefined as string | undefined, removed: [] as string[] };
  const engineWith = (name: string, isThere: () => boolean) => {
    const call = async <T>(value: T): Promise<T> => {
      if (isThere()) return value;
      throw new DomainError("server.unreachable", "Server node-1 does not answer.");
    };
    return {
      capabilities: { kinds: [] },
      containers: { ownersOf: () => call([name]) },
      list: () => call([stateOf(name)]),
      hasSeen: () => false,
      lastSeen: () => (isThere() ? [stateOf(name)] : undefined),
      inspect: (ref: ReleaseRef) => call(ref.deploymentUuid === name ? stateOf(name) : undefined),
      stop: () => call(undefined),
      volumesOf: () => call([`volume of ${name}`]),
      remove: async (ref: ReleaseRef) => {
        await call(undefined);
        world.removed.push(`${ref.deploymentUuid} by ${name}`);
      },
    };
  };
  const engine = withStacks(
    // Only what is called here.
    engineWith("web", () => true) as unknown as SwarmEngine,
    engineWith("shop", () => world.substitute === undefined) as unknown as DockerEngine,
    {
      instance: "i",
      managing: {
        substitute: async () => world.substitute,
        hasSubstitute: () => world.substitute !== undefined,
        headName: () => "node-1",
      },
    },
  );
  return { world, engine };
}

const WAITS =
  "Server node-1 does not answer. Public ports of databases, deletions, and compose files that run on it alone need server node-1 itself: start it again.";

test("stacks are shown as they were while another manager replaces theirs, and cannot be changed", async () => {
  const { world, engine } = cluster();
  const before = await engine.list();
  expect(before.map(({ deploymentUuid }) => deploymentUuid)).toEqual(["web", "shop"]);
  world.substitute = "node-2";
  expect(await engine.list()).toEqual(before);
  expect(engine.lastSeen()).toEqual(before);
  expect(await engine.inspect(refOf("shop"))).toEqual(stateOf("shop"));
  expect(await engine.inspect(refOf("other"))).toBeUndefined();
  await expect(engine.stop(refOf("shop"), { graceSeconds: 1 })).rejects.toThrow(WAITS);
  await expect(engine.remove(refOf("shop"))).rejects.toThrow(WAITS);
});

test("stacks that nobody has seen are not taken for missing ones", async () => {
  const { world, engine } = cluster();
  world.substitute = "node-2";
  await expect(engine.list()).rejects.toThrow(WAITS);
  expect(engine.lastSeen()).toBeUndefined();
});

test("services are handled without the server that another manager replaces", async () => {
  const { world, engine } = cluster();
  await engine.list();
  world.substitute = "node-2";
  await engine.remove(refOf("web"));
  await engine.remove(refOf("never started"));
  expect(world.removed).toEqual(["web by web", "never started by web"]);
  expect(await engine.volumesOf(refOf("web"))).toEqual(["volume of web"]);
  expect(await engine.containers.ownersOf([])).toEqual(["web"]);
  world.substitute = undefined;
  world.removed.length = 0;
  await engine.remove(refOf("web"));
  expect(world.removed).toEqual(["web by web", "web by shop"]);
});
