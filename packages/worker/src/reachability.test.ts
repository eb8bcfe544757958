import { DomainError } from "@berth/core";
import type { ServerRecord } from "@berth/core/ports";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import { fakeMachine } from "./fake-machine.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

const GIB = 1024 ** 3;

async function dockerServer(settings: Partial<ServerRecord["settings"]> = {}): Promise<ServerRecord> {
  return await world.stores.servers.insert({
    ...world.server,
    uuid: testUuid(),
    engine: "docker",
    ip: `${testUuid()}.example`,
    settings: { ...world.server.settings, is_reachable: true, is_usable: true, ...settings },
  });
}

const serverOf = async ({ uuid }: ServerRecord) => {
  const server = await world.stores.servers.find(uuid);
  if (server === undefined) throw new Error("The server is gone.");
  return server;
};
const eventsOf = async ({ uuid }: ServerRecord) =>
  (await world.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid);

describe("a server with containers", () => {
  test("is unreachable after three failed probes, and reachable with the first that is answered", async () => {
    const server = await dockerServer();
    let probes = 0;
    let isThere = false;
    world.machine = fakeMachine({
      ping: async () => {
        probes += 1;
        if (!isThere) throw new DomainError("server.unreachable", "It refused the connection.");
      },
    });
    world.worker();
    const gone = await until(
      async () => {
        const [event] = await eventsOf(server);
        return event;
      },
      { what: "it is told to be gone" },
    );
    expect(gone).toMatchObject({ type: "server.unreachable", payload: { problem: "It refused the connection." } });
    expect(probes).toBeGreaterThanOrEqual(3);
    expect(await serverOf(server)).toMatchObject({ settings: { is_reachable: false, is_usable: true } });
    isThere = true;
    await until(async () => (await serverOf(server)).settings.is_reachable || undefined, { what: "it is back" });
    expect(await serverOf(server)).toMatchObject({ unreachable_count: 0, probes: 0 });
    expect((await eventsOf(server)).map(({ type }) => type)).toEqual(["server.unreachable", "server.reachable"]);
  });

  test("is unreachable while another manager of its cluster replaces it, and its resources are not", async () => {
    const server = await dockerServer();
    let answer: string | null = "It does not answer. Its cluster is managed through node-2 meanwhile.";
    world.machine = fakeMachine({ ping: async () => answer });
    world.worker();
    await until(async () => (await eventsOf(server))[0], { what: "it is reported" });
    expect((await eventsOf(server))[0]).toMatchObject({ type: "server.unreachable", payload: { problem: answer } });
    expect(await serverOf(server)).toMatchObject({ settings: { is_reachable: false, is_substituted: true } });
    answer = null;
    await until(async () => (await serverOf(server)).settings.is_reachable || undefined, { what: "it is back" });
    expect(await serverOf(server)).toMatchObject({ settings: { is_substituted: false } });
  });

  test("that hangs counts as failed, and holds up no other", async () => {
    const [hanging, sound] = [await dockerServer(), await dockerServer()];
    world.machine = fakeMachine({ ping: () => new Promise(() => {}) });
    world.worker();
    await until(async () => !(await serverOf(hanging)).settings.is_reachable || undefined, { what: "it is gone" });
    await until(async () => !(await serverOf(sound)).settings.is_reachable || undefined, { what: "so is the other" });
    const [event] = await eventsOf(hanging);
    expect(event).toMatchObject({ payload: { problem: expect.stringMatching(/did not answer within 0.3 s/) } });
  });

  test("is left alone until a validation found it usable", async () => {
    const restartBackoff = await dockerServer({ is_usable: false });
    const probed = await dockerServer();
    const before = await serverOf(restartBackoff);
    world.machine = fakeMachine({
      ping: async () => {
        throw new DomainError("server.unreachable", "Gone.");
      },
    });
    world.worker();
    await until(async () => !(await serverOf(probed)).settings.is_reachable || undefined, {
      what: "the other is gone",
    });
    expect(await serverOf(restartBackoff)).toEqual(before);
  });

  test("is validated by itself when it answers again after a validation that did not reach it", async () => {
    const server = await dockerServer({ is_usable: false, is_reachable: false });
    const validated = async () => {
      const subject = { ...server, type: "server" } as const;
      const [job] = await world.stores.jobs.request([{ uuid: testUuid(), type: "server.validate", subject }]);
      await until(async () => (await world.stores.jobs.find(job?.uuid ?? ""))?.finished_at ?? undefined, {
        what: "the validation ends",
      });
      return await serverOf(server);
    };
    world.machine = fakeMachine({});
    world.worker();
    expect(await validated()).toMatchObject({ settings: { is_usable: true } });
    let pings = 0;
    world.machine = fakeMachine({
      inspection: { machineProblem: "Off.", facts: null },
      ping: async () => {
        pings += 1;
        throw new DomainError("server.unreachable", "Off.");
      },
    });
    expect(await validated()).toMatchObject({
      settings: { is_usable: false, is_reachable: false },
      server_metadata: expect.anything(),
    });
    await until(async () => pings > 2 || undefined, { what: "it is looked at" });
    expect(await serverOf(server)).toMatchObject({ settings: { is_usable: false }, validation_logs: "Off." });
    world.machine = fakeMachine({});
    await until(async () => (await serverOf(server)).settings.is_usable || undefined, { what: "it is validated" });
    expect(await serverOf(server)).toMatchObject({ settings: { is_reachable: true }, validation_logs: null });
  });

  test("is reported once when its disk came to be too full, at the time of its look", async () => {
    const server = await dockerServer({
      server_disk_usage_check_frequency: "* * * * *",
      server_disk_usage_notification_threshold: 80,
    });
    let freeBytes = 10 * GIB;
    world.machine = fakeMachine({ disk: async () => ({ totalBytes: 100 * GIB, freeBytes }) });
    // The clock advances by a minute at each read.
    let minutes = 0;
    world.worker({ clock: { now: () => new Date(Date.UTC(2026, 0, 1) + minutes++ * 60_000) } });
    await until(async () => (await serverOf(server)).is_disk_usage_high || undefined, { what: "it is told" });
    freeBytes = 60 * GIB;
    await until(async () => !(await serverOf(server)).is_disk_usage_high || undefined, { what: "there is room" });
    expect(await eventsOf(server)).toMatchObject([{ type: "server.disk_usage_high", payload: { used_percent: 90 } }]);
  });
});
