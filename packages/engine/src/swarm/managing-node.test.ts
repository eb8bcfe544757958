import type Docker from "dockerode";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NO_BUILDER } from "../docker/docker.fixture.ts";
import { ManagingNode } from "./managing-node.ts";
import type { SwarmNode } from "./nodes.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

/** After it, the managers are asked again. */
const LATER_MS = 2000;

type Dial = Docker["modem"]["dial"];
type State = "well" | "away" | "hangs" | "leaderless";

/** Engines of three managers, whose states a test sets. */
function world() {
  const states: Record<string, State> = { head: "well", a: "well", b: "well" };
  const calls: string[] = [];
  const manager = (id: string) => ({
    ID: id,
    Spec: { Role: "manager" },
    Status: { State: states[id] === "away" ? "down" : "ready" },
    ManagerStatus: { Reachability: states[id] === "away" ? "unreachable" : "reachable" },
  });
  const dialTo =
    (id: string): Dial =>
    ({ method, path, abortSignal }, callback) => {
      calls.push(`${method} ${path.split("?")[0]} ${id}`);
      if (states[id] === "away") return callback?.(new Error("no route"), null);
      if (states[id] === "leaderless") return callback?.(new Error("rpc error: code = DeadlineExceeded"), null);
      if (states[id] === "hangs") {
        abortSignal?.addEventListener("abort", () => callback?.(new Error("aborted"), null));
        return;
      }
      callback?.(null, { by: id } as never); // Typed as a stream by the library.
    };
  const nodeOf = (id: string): SwarmNode =>
    ({
      ...{ id, name: `server-${id}` },
      builder: {
        ...NO_BUILDER,
        build: () => (id === "head" ? new Promise(() => {}) : Promise.resolve(`built by ${id}`)),
      },
      compose: { up: async () => void calls.push(`compose ${id}`) },
      docker: {
        modem: { dial: dialTo(id) },
        async listNodes() {
          if (states[id] === "away") throw new Error("no route");
          if (states[id] === "hangs") return await new Promise(() => {});
          if (states[id] === "leaderless") throw Object.assign(new Error("no leader"), { statusCode: 500 });
          return Object.keys(states).map(manager);
        },
      },
      // Only what is asked here.
    }) as unknown as SwarmNode;
  const [head, ...others] = ["head", "b", "a"].map(nodeOf);
  if (head === undefined) throw new Error("The list has a first node.");
  const changes: string[] = [];
  const managing = new ManagingNode({
    head: () => head,
    nodes: async () => [...others, head],
    onChange: (name) => changes.push(name),
  });
  const by = async () => ((await managing.docker.info()) as { readonly by: string }).by;
  return { states, calls, changes, managing, by };
}

describe("the manager that calls of a cluster go through", () => {
  test("is the head while it can manage the cluster", async () => {
    const { managing, by } = world();
    expect(await by()).toBe("head");
    expect(await managing.substitute()).toBeUndefined();
    expect(await managing.isHeadLost()).toBe(false);
  });

  test.each(["away", "leaderless"] as const)("is the first of the others while the head is %s", async (state) => {
    const { states, changes, managing, by } = world();
    states.head = state;
    expect(await by()).toBe("a");
    expect(await managing.substitute()).toBe("server-a");
    expect(changes).toEqual(["server-a"]);
    // The managers still reach a head that only lost its leader, so its proxy may serve.
    expect(await managing.isHeadLost()).toBe(state === "away");
  });

  test("is another one when that is lost too, and the head when nobody can", async () => {
    const { states, calls, by, managing } = world();
    states.head = "leaderless";
    expect(await by()).toBe("a");
    states.a = "away";
    vi.advanceTimersByTime(LATER_MS);
    expect(await by()).toBe("b");
    states.b = "leaderless";
    vi.advanceTimersByTime(LATER_MS);
    // It waits for a leader in vain.
    await expect(by()).rejects.toMatchObject({ code: "cluster.no_leader" });
    expect(calls.at(-1)).toBe("GET /info head");
    expect(await managing.substitute()).toBeUndefined();
  });

  test("is the head again when that is back, without ending calls to the other", async () => {
    const { states, changes, by } = world();
    states.head = "away";
    expect(await by()).toBe("a");
    states.head = "well";
    vi.advanceTimersByTime(LATER_MS);
    expect(await by()).toMatch(/^(?:a|head)$/);
    await vi.waitFor(async () => expect(await by()).toBe("head"));
    expect(changes).toEqual(["server-a", "server-head"]);
  });

  test("has its containers of compose files made by its own tool", async () => {
    const { states, calls, managing } = world();
    const io = { onLine() {}, signal: new AbortController().signal };
    const up = () => managing.compose.up("d", {}, { isCreateOnly: true, keepsExisting: false }, io);
    await up();
    states.head = "away";
    vi.advanceTimersByTime(LATER_MS);
    await up();
    expect(calls.filter((call) => call.startsWith("compose"))).toEqual(["compose head", "compose a"]);
  });

  test("begins a build again on another manager, as the step of a deployment is told at once", async () => {
    const { states, by, managing } = world();
    expect(await by()).toBe("head");
    const signal = new AbortController().signal;
    const building = managing.builder.build({ by: "test" } as never, { onLine() {}, signal });
    const ended = expect(building).rejects.toMatchObject({ code: "engine.unreachable" });
    states.head = "away";
    vi.advanceTimersByTime(LATER_MS);
    expect(await by()).toBe("a");
    await ended;
    expect(await managing.builder.build({ by: "test" } as never, { onLine() {}, signal })).toBe("built by a");
  });

  test("repeats a pending read on the other manager, and fails a pending change", async () => {
    const { states, calls, by, managing } = world();
    expect(await by()).toBe("head");
    states.head = "hangs";
    const read = by();
    const changed = managing.docker.createNetwork({ Name: "one" }).then(
      () => "done",
      ({ message }: Error) => message,
    );
    await vi.waitFor(() => expect(calls).toContain("POST /networks/create head"));
    states.head = "away";
    vi.advanceTimersByTime(LATER_MS);
    expect(await by()).toBe("a");
    expect(await read).toBe("a");
    expect(await changed).toBe("the manager that was asked is not reached any more");
    expect(calls.filter((call) => call.startsWith("POST"))).toEqual(["POST /networks/create head"]);
  });
});
