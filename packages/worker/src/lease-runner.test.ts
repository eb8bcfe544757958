import type { QueueName, RenewableRuns, ServerRecord } from "@berth/core/ports";
import { until } from "@berth/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { endingOf, type LeaseKeeper } from "./lease-keeper.ts";
import { createLeaseRunner, type LeasedRunKind, type LeaseRunner } from "./lease-runner.ts";
import type { ValidationDeps } from "./server-validation.ts";
import { DEFAULT_SETTINGS, type WorkerSettings } from "./settings.ts";
import { wakeSignal } from "./wake-signal.ts";

type Renew = RenewableRuns["renew"];
interface TestRun {
  readonly uuid: string;
  readonly serverId: number;
}

const held: Renew = async (_, uuids) => uuids.map((uuid) => ({ uuid, is_cancel_requested: false }));
const lost: Renew = async () => [];
const cancelled: Renew = async (_, uuids) => uuids.map((uuid) => ({ uuid, is_cancel_requested: true }));

const runners: LeaseRunner[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(runners.splice(0).map((runner) => runner.stop({ graceSeconds: 0 })));
});

interface Given extends Partial<Pick<LeasedRunKind<TestRun>, "unrenewed" | "serverIdOf" | "isHandedOver">> {
  readonly renew?: Renew;
  readonly settings?: Partial<WorkerSettings>;
  readonly busy?: () => Promise<ReadonlySet<QueueName>>;
  readonly waiting?: readonly TestRun[];
}

/** A runner of runs that last until their signal fires. */
function runnerOf({
  renew = held,
  settings,
  busy = async () => new Set(["backup"] as const),
  waiting = [{ uuid: "one", serverId: 1 }],
  ...kind
}: Given = {}) {
  const wake = wakeSignal();
  const silent = () => undefined;
  const queue = [...waiting];
  const keepers = new Map<string, LeaseKeeper>();
  const servers = [1, 2].map((id) => ({ id }) as ServerRecord); // Only the id of a server is read.
  const deps = {
    stores: { queues: { busy }, servers: { list: async () => servers } },
    settings: {
      ...DEFAULT_SETTINGS,
      leaseSeconds: 0.4,
      renewSeconds: 0.05,
      pollSeconds: 0.05,
      idleSeconds: 0.05,
      ...settings,
    },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    clock: { now: () => new Date() },
    owner: "worker",
    ownsServer: () => true,
  } as unknown as ValidationDeps; // Only these members are called.
  const runner = createLeaseRunner<TestRun>(deps, wake, {
    title: "Tests",
    queues: ["backup"],
    topic: "backup",
    concurrentMax: 10,
    uuidOf: ({ uuid }) => uuid,
    unrenewed: "lost",
    ...kind,
    async claim(serverIds) {
      const index = queue.findIndex(({ serverId }) => serverIds.includes(serverId));
      return index === -1 ? undefined : queue.splice(index, 1)[0];
    },
    renew: (...asked) => renew(...asked),
    async run({ uuid }, keeper) {
      keepers.set(uuid, keeper);
      await new Promise<void>((resolve) => keeper.leaving.addEventListener("abort", () => resolve()));
    },
  });
  runners.push(runner);
  runner.start();
  const keeperOf = (uuid = "one") => until(() => keepers.get(uuid), { what: "it runs" });
  return { runner, wake, keepers, keeperOf };
}

const faked = { toFake: ["setTimeout", "clearTimeout", "performance"] } as const;

describe("a lease", () => {
  test("is kept as long as it is renewed", async () => {
    vi.useFakeTimers({ toFake: [...faked.toFake] });
    const { keepers } = runnerOf();
    // Longer than a lease.
    await vi.advanceTimersByTimeAsync(1000);
    const keeper = keepers.get("one");
    expect(keeper?.ending).toBeUndefined();
    expect(keeper?.signal.aborted).toBe(false);
  });

  test("is lost before it runs out when the database is away", async () => {
    vi.useFakeTimers({ toFake: [...faked.toFake] });
    const { keepers } = runnerOf({ renew: () => Promise.reject(new Error("away")) });
    await vi.advanceTimersByTimeAsync(350);
    const keeper = keepers.get("one");
    expect(keeper?.isLost).toBe(false);
    await vi.advanceTimersByTimeAsync(40);
    expect(keeper?.isLost).toBe(true);
    expect(keeper?.signal.aborted).toBe(true);
    expect(keeper?.leaving.aborted).toBe(true);
  });

  test("is lost when a renewal never answers", async () => {
    const keeper = await runnerOf({ renew: () => new Promise(() => undefined) }).keeperOf();
    await until(() => keeper.isLost, { what: "it is lost" });
  });

  test.each(["lost", "gone"] as const)("that is not renewed ends the run as its kind says: %s", async (unrenewed) => {
    const keeper = await runnerOf({ renew: lost, unrenewed }).keeperOf();
    await until(() => keeper.ending === unrenewed, { what: "it has ended" });
    expect(endingOf(keeper.signal)).toBe(unrenewed);
    expect(endingOf(AbortSignal.any([keeper.signal, new AbortController().signal]))).toBe(unrenewed);
  });

  test("learns of a cancel with the next notification", async () => {
    let renew = held;
    const slow = { leaseSeconds: 60, renewSeconds: 60 };
    const { wake, keeperOf } = runnerOf({ renew: (...asked) => renew(...asked), settings: slow });
    const keeper = await keeperOf();
    renew = cancelled;
    wake.notify("backup");
    await until(() => keeper.ending === "cancelled", { what: "it is cancelled" });
    expect(keeper.signal.aborted).toBe(true);
    expect(keeper.leaving.aborted).toBe(false);
  });

  test("of a committed run ends neither by a cancel nor by the time limit, but by a loss", async () => {
    let renew = held;
    const keeper = await runnerOf({ renew: (...asked) => renew(...asked) }).keeperOf();
    keeper.commit();
    renew = cancelled;
    keeper.limit(0);
    await keeper.refresh();
    await until(async () => new Promise<boolean>((resolve) => setTimeout(resolve, 5, true)), {
      what: "the limit has passed",
    });
    expect(keeper.ending).toBeUndefined();
    expect(keeper.signal.aborted).toBe(false);
    renew = lost;
    await until(() => keeper.ending === "lost", { what: "it is lost" });
    expect(keeper.leaving.aborted).toBe(true);
  });

  test("ends with the run's time limit", async () => {
    const keeper = await runnerOf().keeperOf();
    keeper.limit(0.05);
    await until(() => keeper.ending === "timeout", { what: "its time is over" });
  });
});

describe("a runner that stops", () => {
  test("ends its runs after the grace time, and a cancel goes before that", async () => {
    let renew = held;
    const { runner, keeperOf } = runnerOf({ renew: (...asked) => renew(...asked) });
    const keeper = await keeperOf();
    const stopped = runner.stop({ graceSeconds: 0.5 });
    await until(() => keeper.isStopping, { what: "it is told" });
    expect(keeper.ending).toBeUndefined();
    renew = cancelled;
    await until(() => keeper.ending === "cancelled", { what: "the cancel is heard" });
    await stopped;
    expect(keeper.leaving.aborted).toBe(true);
  });

  test.each([
    [true, [["one", 0]]],
    [false, []],
  ])("hands its runs over where its kind says so: %s", async (isHandedOver, expected) => {
    const freed: [string, number][] = [];
    const renew: Renew = async (owner, uuids, seconds) => {
      if (seconds === 0) freed.push(...uuids.map((uuid): [string, number] => [uuid, seconds]));
      return await held(owner, uuids, seconds);
    };
    const { runner, keeperOf } = runnerOf({ renew, isHandedOver });
    await keeperOf();
    await runner.stop({ graceSeconds: 0 });
    expect(freed).toEqual(expected);
  });
});

test("runs of one server follow one another where their kind says so", async () => {
  const waiting = [
    { uuid: "one", serverId: 1 },
    { uuid: "two", serverId: 1 },
    { uuid: "three", serverId: 2 },
  ];
  const { keepers, keeperOf } = runnerOf({ waiting, serverIdOf: ({ serverId }) => serverId });
  const one = await keeperOf("one");
  await keeperOf("three");
  expect(keepers.has("two")).toBe(false);
  one.lose();
  await keeperOf("two");
});

describe("a queue", () => {
  test("is looked at rarely while it is empty, and at once when it is woken", async () => {
    vi.useFakeTimers({ toFake: [...faked.toFake] });
    let looks = 0;
    const names = new Set<QueueName>();
    const busy = async () => {
      looks += 1;
      return names;
    };
    const { wake } = runnerOf({ busy, settings: { pollSeconds: 1, idleSeconds: 10 } });
    await vi.advanceTimersByTimeAsync(30_500);
    expect(looks).toBe(4);
    names.add("backup");
    wake.notify("backup");
    await vi.advanceTimersByTimeAsync(10_500);
    expect(looks).toBe(4 + 11);
  });
});
