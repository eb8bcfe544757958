import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import type { SwarmNode } from "./nodes.ts";
import { TaskConnector } from "./reach.ts";
import type { RunningTask } from "./watch.ts";

const ADDRESS = "10.201.0.2";
const CHECK_SECONDS = 30;

afterEach(() => vi.restoreAllMocks());

/** A cluster of three nodes, one of which has the container with the address. */
function cluster() {
  const asked: string[] = [];
  const connected: string[] = [];
  const at = { node: "b" };
  let isRefused = false;
  const nodeOf = (id: string): SwarmNode => {
    const docker = {
      async listContainers() {
        asked.push(id);
        return at.node === id ? [{ Id: "c", NetworkSettings: { Networks: { own: { IPAddress: ADDRESS } } } }] : [];
      },
      getContainer: () => ({ inspect: async () => ({ NetworkSettings: { SandboxID: "sandbox" } }) }),
      getNetwork: () => ({
        inspect: async () => ({ Containers: { c: { Name: "gateway_sandbox", IPv4Address: "172.18.0.3/16" } } }),
      }),
    };
    const host = {
      connectTcp: async ({ host: address }: { readonly host: string }) => {
        if (isRefused) throw new Error("Nothing listens there.");
        connected.push(`${id} ${address}`);
        return new PassThrough();
      },
    };
    // Only what is asked here.
    return { id, name: id, docker, host, images: {} } as unknown as SwarmNode;
  };
  const nodes = ["a", "b", "c"].map(nodeOf);
  const connector = new TaskConnector("test");
  let running: RunningTask | undefined;
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  return {
    at,
    /** What events say. */
    say: (id: string, node: string, startedAt = new Date(0)) => {
      running = { id, startedAt, node: nodeOf(node) };
    },
    refuse: (is: boolean) => {
      isRefused = is;
    },
    async check(seconds: number) {
      clock.mockReturnValue(seconds * 1000);
      asked.length = 0;
      connected.length = 0;
      const surroundings = { running, nodes: async () => nodes };
      await connector.connect(surroundings, { host: ADDRESS, port: 80 }).catch(() => undefined);
      return { asked: [...asked].sort().join(""), connected: [...connected] };
    },
  };
}

test("a container is looked for on all nodes once, and then on the node that has it", async () => {
  const { check } = cluster();
  const connected = ["b 172.18.0.3"];
  expect(await check(0)).toEqual({ asked: "abc", connected });
  expect(await check(1)).toEqual({ asked: "", connected });
  expect(await check(CHECK_SECONDS)).toEqual({ asked: "b", connected });
  expect(await check(2 * CHECK_SECONDS)).toEqual({ asked: "b", connected });
});

test("a container whose address another node has now is found there", async () => {
  const { check, at } = cluster();
  await check(0);
  at.node = "c";
  expect(await check(CHECK_SECONDS)).toEqual({ asked: "abc", connected: ["c 172.18.0.3"] });
  expect(await check(2 * CHECK_SECONDS)).toEqual({ asked: "c", connected: ["c 172.18.0.3"] });
});

test("nobody is asked again while events say that the same container runs there, but every few minutes", async () => {
  const { check, say } = cluster();
  say("c", "b");
  const connected = ["b 172.18.0.3"];
  expect(await check(0)).toEqual({ asked: "b", connected });
  for (const round of [1, 2, 3]) expect(await check(round * CHECK_SECONDS)).toEqual({ asked: "", connected });
  expect(await check(301)).toEqual({ asked: "b", connected });
});

test("another container with the address, and another run of it, are looked for", async () => {
  const { check, say, at } = cluster();
  say("c", "b");
  await check(0);
  at.node = "c";
  say("d", "c");
  expect(await check(CHECK_SECONDS)).toEqual({ asked: "c", connected: ["c 172.18.0.3"] });
  say("d", "c", new Date(1000));
  expect(await check(2 * CHECK_SECONDS)).toMatchObject({ asked: "c" });
});

test("a container that refuses is looked for again", async () => {
  const { check, say, refuse } = cluster();
  say("c", "b");
  await check(0);
  refuse(true);
  expect(await check(CHECK_SECONDS)).toEqual({ asked: "", connected: [] });
  refuse(false);
  expect(await check(CHECK_SECONDS + 1)).toEqual({ asked: "b", connected: ["b 172.18.0.3"] });
});
