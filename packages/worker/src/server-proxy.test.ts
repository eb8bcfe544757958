import { DomainError } from "@berth/core";
import type { JobRecord, ManagedProxyStatus, ProxyLifecycle } from "@berth/core/ports";
import type { JobType } from "@berth/core/server";
import { type TestDatabase, testDatabase, testUuid, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
let world: World;
let told: string[];
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  world = await openWorld(database);
  told = [];
  world.proxy.lifecycle = lifecycle();
});
afterEach(() => world.close());

function lifecycle(): ProxyLifecycle {
  let state: ManagedProxyStatus["state"] = "running";
  const change = (what: string, next: typeof state) => async () => {
    await world.points.pass(what);
    told.push(what);
    state = next;
  };
  return {
    start: change("start proxy", "running"),
    stop: change("stop proxy", "absent"),
    status: async () => ({ type: "CADDY", state, image: null, startedAt: null, restartCount: 0 }),
  };
}

async function asked(type: JobType, is_proxy_stopped: boolean): Promise<JobRecord> {
  return await world.stores.transaction(async (tx) => {
    await tx.servers.update(world.server.uuid, { is_proxy_stopped });
    const [job] = await tx.jobs.request([{ uuid: testUuid(), type, subject: { ...world.server, type: "server" } }]);
    if (job === undefined) throw new Error("No job was queued.");
    return job;
  });
}
const ended = ({ uuid }: JobRecord) =>
  until(
    async () => {
      const job = await world.stores.jobs.find(uuid);
      return job?.finished_at ? job : undefined;
    },
    { what: "the job ends" },
  );
const statusOf = async () => (await world.stores.servers.find(world.server.uuid))?.proxy_status;

describe("a proxy that runs by itself", () => {
  test("is stopped and started when that is asked for, and its status is told", async () => {
    world.worker();
    await until(async () => (await statusOf()) === "running", { what: "it is seen" });
    expect(await ended(await asked("server.stop_proxy", true))).toMatchObject({ status: "finished", error: null });
    expect([told, await statusOf()]).toEqual([["stop proxy"], "exited"]);
    await ended(await asked("server.start_proxy", false));
    expect([told.at(-1), await statusOf()]).toEqual(["start proxy", "running"]);
    const events = (await world.stores.events.list({})).filter(
      ({ type, resource_uuid }) => type === "server.proxy_status_changed" && resource_uuid === world.server.uuid,
    );
    expect(events.map(({ payload }) => payload.status)).toEqual(["running", "exited", "running"]);
  });

  test("is stopped and started again when it is asked to restart", async () => {
    world.worker();
    await ended(await asked("server.restart_proxy", false));
    expect(told).toEqual(["stop proxy", "start proxy"]);
  });

  test("does what was asked for last, in whatever order the jobs are done", async () => {
    const start = await asked("server.start_proxy", false);
    const stop = await asked("server.stop_proxy", true);
    world.worker();
    await ended(stop);
    await ended(start);
    expect(told).not.toContain("start proxy");
    expect(await statusOf()).toBe("exited");
  });

  test("that does not start fails its job with what it said", async () => {
    world.points.fail("start proxy", new DomainError("setup.failed", "Port 80 is taken."));
    world.worker();
    expect(await ended(await asked("server.start_proxy", false))).toMatchObject({
      status: "failed",
      error: "Port 80 is taken.",
    });
  });

  test("that is stopped is said to be in the log of a deployment", async () => {
    await world.stores.servers.update(world.server.uuid, { is_proxy_stopped: true });
    world.worker();
    const deployment = await world.deploy(await world.application());
    expect((await world.ended(deployment)).status).toBe("finished");
    expect(await world.log(deployment)).toContain("The proxy of the server is stopped");
    expect(told).toEqual([]);
  });
});
