import type { ApplicationSettings } from "@berth/core/application";
import type { ApplicationRecord, DrainResult, Engine, LogDrainSender } from "@berth/core/ports";
import { NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import { printingEngine, type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openWorld, type TestWorkerOptions } from "./world.fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

interface ReceivedBatch {
  readonly lines: readonly string[];
  readonly license: string;
}

/** A world whose releases print what a test says, and a receiver that accepts all unless it is told otherwise. */
async function drainWorld() {
  const world = await openWorld(database);
  const output = printingEngine();
  const engineFor = world.engine.for;
  let followers = 0;
  const logs: Engine["logs"] = async function* (ref, query) {
    followers += 1;
    try {
      yield* output.logs(ref, query);
    } finally {
      followers -= 1;
    }
  };
  world.engine.for = (owner) => ({ ...engineFor(owner), logs });
  const received: ReceivedBatch[] = [];
  let answer: (lines: readonly string[]) => DrainResult | Promise<DrainResult> = () => ACCEPTED;
  const sendLogs: LogDrainSender = async (drain, batch) => {
    const lines = batch.map(({ line }) => line);
    const result = await answer(lines);
    const license = drain.type === "newrelic" ? drain.licenseKey : drain.type;
    if (result.isDelivered) received.push({ lines, license });
    return result;
  };
  const { stores, system, server } = world;
  const turn = async (isOn: boolean, license = "key") => {
    await stores.transaction(async (tx) => {
      await tx.logDrains.save(server.id, { ...NO_LOG_DRAIN_SECRETS, logdrain_newrelic_license_key: license });
      await tx.logDrains.restart(server.id);
      await tx.servers.update(server.uuid, { settings: { is_logdrain_newrelic_enabled: isOn } });
    });
  };
  return {
    ...world,
    output,
    received,
    turn,
    answerWith(next: typeof answer) {
      answer = next;
    },
    worker: (options: TestWorkerOptions = {}) => world.worker({ sendLogs, ...options }),
    lines: () => received.flatMap(({ lines }) => lines),
    /** Deploys an application, which prints its name first. */
    async deployed(settings: Partial<ApplicationSettings>) {
      const application = await world.application(settings);
      const print = await this.redeployed(application);
      return { application, print };
    },
    async redeployed(application: ApplicationRecord) {
      const { id, uuid } = await world.deploy(application);
      output.print(uuid, `${uuid} starts`);
      const { status } = await world.ended({ id });
      if (status !== "finished") throw new Error(`The deployment is ${status}.`);
      return Object.assign((...lines: string[]) => output.print(uuid, ...lines), { uuid });
    },
    followed: (count: number) => until(() => followers === count, { what: `${count} logs are followed` }),
    problem: async () => (await system.servers.find(server.id))?.log_drain_problem,
  };
}

const ACCEPTED: DrainResult = { isDelivered: true, refused: 0 };
const AWAY: DrainResult = { isDelivered: false, problem: "New Relic answered 503.", kind: "503", cause: "receiver" };
const DRAINED = { is_log_drain_enabled: true };

type DrainWorld = Awaited<ReturnType<typeof drainWorld>>;
const arrived = (world: DrainWorld, ...lines: string[]) =>
  until(() => lines.every((line) => world.lines().includes(line)), {
    what: `${lines.map((line) => line.slice(0, 40))} arrived`,
    seconds: 15,
  });

test("lines of a resource with a log drain arrive once and in order, and those of another never", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.worker();
  const drained = await world.deployed(DRAINED);
  const other = await world.deployed({});
  for (let count = 0; count < 2500; count += 1) {
    drained.print(`line ${count}`);
    other.print(`secret ${count}`);
  }
  await arrived(world, "line 2499");
  const numbered = Array.from({ length: 2500 }, (_, count) => `line ${count}`);
  expect(world.lines()).toEqual([`${drained.print.uuid} starts`, ...numbered]);
  expect(Math.max(...world.received.map(({ lines }) => lines.length))).toBeLessThanOrEqual(1000);
  await world.close();
});

test.each(["stop", "kill"] as const)("after a %s of the worker, lines continue without gap or repeat", async (how) => {
  const world = await drainWorld();
  await world.turn(true);
  const first = world.worker();
  const { print } = await world.deployed(DRAINED);
  print("before");
  await arrived(world, "before");
  const saved = async () => (await world.system.logDrains.drained(world.server.id)).releases[0]?.cursor === "1";
  await until(saved, { what: "the position is stored" });
  if (how === "stop") await first.stop({ graceSeconds: 1 });
  else first.kill();
  print("meanwhile");
  world.worker();
  await arrived(world, "meanwhile");
  print("after");
  await arrived(world, "after");
  expect(world.lines()).toEqual([`${print.uuid} starts`, "before", "meanwhile", "after"]);
  await world.close();
});

test("several control planes deliver each line once", async () => {
  const world = await drainWorld();
  await world.turn(true);
  const workers = [world.worker(), world.worker(), world.worker()];
  const { print } = await world.deployed(DRAINED);
  print("one");
  await arrived(world, "one");
  await workers[0]?.stop({ graceSeconds: 1 });
  print("two");
  await arrived(world, "two");
  await workers[1]?.stop({ graceSeconds: 1 });
  print("three");
  await arrived(world, "three");
  expect(world.lines()).toEqual([`${print.uuid} starts`, "one", "two", "three"]);
  await world.close();
});

test("a receiver that is away gets all lines later, and the problem is recorded and logged once", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.worker();
  const { print } = await world.deployed(DRAINED);
  await arrived(world, `${print.uuid} starts`);
  let tries = 0;
  world.answerWith(() => {
    tries += 1;
    return AWAY;
  });
  print("one", "two");
  await until(() => tries > 3, { what: "it is tried several times" });
  print("three");
  expect(await world.problem()).toBe("New Relic answered 503.");
  expect(world.warnings.filter((warning) => warning.includes("cannot be delivered"))).toHaveLength(1);
  world.answerWith(() => ACCEPTED);
  await arrived(world, "one", "two", "three");
  expect(world.lines().slice(1)).toEqual(["one", "two", "three"]);
  await until(async () => (await world.problem()) === null, { what: "the problem is over" });
  await world.close();
});

test("while a receiver is away, lines stay in the engine's log, so that memory is bounded and none is lost", async () => {
  const world = await drainWorld();
  let read = 0;
  const { logs } = world.output;
  world.output.logs = async function* (ref, query) {
    for await (const line of logs(ref, query)) {
      read += line.line.length;
      yield line;
    }
  };
  await world.turn(true);
  world.answerWith(() => AWAY);
  world.worker();
  const { print } = await world.deployed(DRAINED);
  const numbered = Array.from({ length: 600 }, (_, count) => `${count} ${"x".repeat(10_000)}`);
  print(...numbered);
  await until(async () => (await world.problem()) !== null && read > 1_000_000, { what: "it is tried" });
  await world.redeployed(await world.application(DRAINED));
  expect(read).toBeLessThan(2 * 1024 * 1024 + 20_000);
  world.answerWith(() => ACCEPTED);
  await arrived(world, numbered.at(-1) ?? "");
  expect(world.lines().filter((line) => !line.endsWith("starts"))).toEqual(numbered);
  await world.close();
});

test("a batch that is never accepted is dropped, counted, and holds up nothing", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.worker();
  const { print } = await world.deployed(DRAINED);
  await arrived(world, `${print.uuid} starts`);
  world.answerWith((lines) =>
    lines.includes("poison") ? { isDelivered: false, problem: "Bad JSON.", kind: "400", cause: "content" } : ACCEPTED,
  );
  print("poison");
  await until(async () => (await world.problem())?.startsWith("Lines are refused and dropped."), {
    what: "it is dropped",
  });
  expect(world.warnings.join()).toContain("refused by the log drain and dropped");
  print("good");
  await arrived(world, "good");
  expect(world.lines()).not.toContain("poison");
  await world.close();
});

test("a batch that is too large is sent in parts", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.answerWith((lines) =>
    lines.length > 3 ? { isDelivered: false, problem: "Too large.", kind: "413", cause: "size" } : ACCEPTED,
  );
  world.worker();
  const { print } = await world.deployed(DRAINED);
  const numbered = Array.from({ length: 10 }, (_, count) => `line ${count}`);
  print(...numbered);
  await arrived(world, "line 9");
  expect(world.lines().slice(1)).toEqual(numbered);
  await world.close();
});

test("turning it off or on takes effect for the server and for one resource, without lines from between", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.worker();
  const { application, print } = await world.deployed(DRAINED);
  const flag = (is_log_drain_enabled: boolean) =>
    world.stores.applications.update(application.id, { settings: { is_log_drain_enabled } });
  print("one");
  await arrived(world, "one");
  await flag(false);
  await world.followed(0);
  print("between");
  await nextMoment();
  await flag(true);
  print("two");
  await arrived(world, "two");
  await world.turn(false);
  await world.followed(0);
  print("off");
  await nextMoment();
  await world.turn(true, "other");
  print("three");
  await arrived(world, "three");
  expect(world.lines()).toEqual([`${print.uuid} starts`, "one", "two", "three"]);
  expect(world.received.at(-1)?.license).toBe("other");
  await world.close();
});

/** Times have milliseconds, and a line of the moment in which a log drain is turned on belongs to it. */
async function nextMoment(): Promise<void> {
  const nowMs = Date.now();
  await until(() => Date.now() > nowMs + 1, { what: "the next millisecond" });
}

test("a new key is tried at once, with the lines that wait", async () => {
  const world = await drainWorld();
  await world.turn(true, "wrong");
  world.answerWith(() => ({ ...AWAY, kind: "403" }));
  world.worker({ settings: { logDrainRetrySeconds: 600, logDrainRetrySecondsMax: 600 } });
  const { print } = await world.deployed(DRAINED);
  await until(async () => (await world.problem()) !== null, { what: "it is refused" });
  world.answerWith(() => ACCEPTED);
  await world.stores.logDrains.save(world.server.id, {
    ...NO_LOG_DRAIN_SECRETS,
    logdrain_newrelic_license_key: "right",
  });
  await arrived(world, `${print.uuid} starts`);
  expect(world.received.at(-1)?.license).toBe("right");
  await world.close();
});

test("each release of a resource is followed, with the last lines of the previous one", async () => {
  const world = await drainWorld();
  await world.turn(true);
  world.worker();
  const { application, print } = await world.deployed(DRAINED);
  print("old");
  const next = await world.redeployed(application);
  next("new");
  await arrived(world, "old", "new", `${next.uuid} starts`);
  expect(world.lines().filter((line) => line === "old")).toHaveLength(1);
  await world.close();
});

test("nothing is read for log drains where no server has one", async () => {
  const world = await drainWorld();
  let reads = 0;
  const { logDrains } = world.system;
  const stores = {
    ...world.system,
    logDrains: {
      ...logDrains,
      drained: (serverId: number) => {
        reads += 1;
        return logDrains.drained(serverId);
      },
    },
  };
  world.worker({ stores });
  const { print } = await world.deployed(DRAINED);
  print("one");
  await world.deployed({});
  expect([reads, world.lines()]).toEqual([0, []]);
  await world.close();
});
