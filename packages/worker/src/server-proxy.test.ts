import { DomainError } from "@berth/core";
import type { JobRecord, ManagedProxyStatus, ProxyLifecycle } from "@berth/core/ports";
import type { JobType } from "@berth/core/server";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
let told: string[];
openEachWorld((opened) => {
  world = opened;
  told = [];
  world.proxy.lifecycle = lifecycle();
});

let state: ManagedProxyStatus["state"];
let problem: string | undefined;
function lifecycle(): ProxyLifecycle {
  [state, problem] = ["running", undefined];
  const change = (what: string, next: typeof state) => async () => {
    await world.points.pass(what);
    told.push(what);
    state = next;
  };
  return {
    start: change("start proxy", "running"),
    restart: change("restart proxy", "running"),
    stop: change("stop proxy", "absent"),
    status: async () => ({
      type: "CADDY",
      state,
      image: null,
      startedAt: null,
      restartCount: 0,
      ...(problem && { problem }),
    }),
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

  test("is made anew when it is asked to restart, and not stopped for it", async () => {
    world.worker();
    await ended(await asked("server.restart_proxy", false));
    expect(told).toEqual(["restart proxy"]);
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

  test("that ends, hangs or cannot be what is wanted is seen so within seconds, and told its sites when it is back", async () => {
    // No synchronisation is due in the time of a test.
    world.worker({ settings: { resyncSeconds: 3600 } });
    await world.ended(await world.deploy(await world.application()));
    const seen = async () => {
      const server = await world.stores.servers.find(world.server.uuid);
      return `${server?.proxy_status}: ${server?.proxy_problem}`;
    };
    await until(async () => (await seen()) === "running: null", { what: "it is seen to run" });
    state = "starting";
    await until(async () => /^starting: .*does not answer/.test(await seen()), { what: "it is seen to hang" });
    state = "restarting";
    await until(async () => /^restarting: .*again and again/.test(await seen()), { what: "it is seen to end" });
    const syncs = world.points.count("sync");
    await until(() => world.points.count("sync") > syncs, { what: "it is told its sites" });
    [state, problem] = ["running", "The image is not there. The proxy caddy serves until that is mended."];
    await until(async () => (await seen()) === `running: ${problem}`, { what: "the reason is seen" });
    problem = undefined;
    await until(async () => (await seen()) === "running: null", { what: "all is well" });
  });

  test("is told its sites as soon as it has another type, which begins with those of its last time", async () => {
    world.worker({ settings: { resyncSeconds: 3600, proxyLookSeconds: 3600 } });
    await world.ended(await world.deploy(await world.application()));
    for (const proxy_type of ["NONE", "CADDY"]) {
      const syncs = world.points.count("sync");
      await world.stores.servers.update(world.server.uuid, { proxy_type });
      await until(() => world.points.count("sync") > syncs, { what: `it is told its sites as ${proxy_type}` });
    }
  });

  test("that cannot be replaced is logged when that begins, and not again while it stays so", async () => {
    world.worker({ settings: { resyncSeconds: 3600, proxyLookSeconds: 0.05 } });
    await world.ended(await world.deploy(await world.application()));
    const logged = () => world.warnings.filter((line) => line.includes("could not be replaced")).length;
    let looks = 0;
    const seen = lifecycle();
    world.proxy.lifecycle = {
      ...seen,
      status: async () => {
        looks += 1;
        return await seen.status();
      },
    };
    const lookedAgain = async () => {
      const before = looks;
      await until(() => looks > before + 2, { what: "it is looked at again" });
    };
    for (const times of [1, 2]) {
      problem = "The image is not there. The proxy caddy serves until that is mended.";
      await until(() => logged() === times, { what: "it is logged" });
      await lookedAgain();
      expect(logged()).toBe(times);
      problem = undefined;
      await lookedAgain();
    }
  });

  test("that cannot be told its sites is reported once, however often it is tried", async () => {
    world.points.fail("sync", new DomainError("setup.failed", "The image is not there."), 1_000_000);
    world.points.fail("put", new DomainError("setup.failed", "The image is not there."), 1_000_000);
    const application = await world.application();
    world.worker({ settings: { restSeconds: 0.05, routeSecondsMax: 0.1 } });
    const deployment = await world.ended(await world.deploy(application));
    expect(deployment.error).toContain("The image is not there.");
    await until(() => world.points.count("sync") >= 4, { what: "it was tried again" });
    expect(world.warnings.filter((line) => line.includes("did not accept"))).toHaveLength(1);
    expect((await world.stores.servers.find(world.server.uuid))?.proxy_problem).toBe("The image is not there.");
  });

  test("that is stopped is said to be in the log of a deployment", async () => {
    await world.stores.servers.update(world.server.uuid, { is_proxy_stopped: true });
    world.worker();
    const deployment = await world.deploy(await world.application());
    expect((await world.ended(deployment)).status).toBe("finished");
    expect(await world.log(deployment)).toMatch(/Its URLs do not answer\. The proxy of server \S+ is stopped/);
    expect(told).toEqual([]);
  });
});
