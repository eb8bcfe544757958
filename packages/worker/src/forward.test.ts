import { DomainError } from "@berth/core";
import { databaseView } from "@berth/core/database";
import type { DatabaseRecord, Forward, Forwarder, PresentForward } from "@berth/core/ports";
import { type TestDatabase, testDatabase, testDatabaseResource, testPlace, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createForwards, type Forwards } from "./forward.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** A server's forwards in memory. */
function fakeForwarder() {
  const open = new Map<string, PresentForward>();
  const calls: string[] = [];
  const foreign = new Set<number>();
  const forwarder: Forwarder = {
    async list() {
      calls.push("list");
      return [...open.values()];
    },
    async open(forward) {
      const { resourceUuid, publicPort } = forward;
      calls.push(`open ${publicPort}`);
      const isTaken = [...open.values()].some(({ forward: other }) => other?.publicPort === publicPort);
      if (foreign.has(publicPort) || isTaken) throw new DomainError("port.taken", `Port ${publicPort} is taken.`);
      open.set(resourceUuid, { resourceUuid, forward, isRunning: true });
    },
    async close(resourceUuid) {
      calls.push("close");
      open.delete(resourceUuid);
    },
  };
  return { forwarder, open, calls, foreign, ports: () => [...open.values()].map(portOf).sort() };
}
const portOf = ({ forward }: PresentForward): Forward["publicPort"] | undefined => forward?.publicPort;

describe("the public ports of a server", () => {
  let at: Awaited<ReturnType<typeof place>>;
  beforeEach(async () => {
    at = await place();
  });

  /** The problem that the API shows. */
  async function problemOf({ uuid }: DatabaseRecord): Promise<string | null> {
    const found = await at.stores.databases.find(uuid);
    if (found === undefined) throw new Error("The database is gone.");
    return databaseView(found, { secrets: undefined }).public_port_problem;
  }

  async function place(resyncSeconds = 60) {
    const stores = database.stores();
    const where = await testPlace(stores);
    const fake = fakeForwarder();
    const warnings: string[] = [];
    const tell = () => undefined;
    const logger = { debug: tell, info: tell, error: tell, warn: (message: string) => void warnings.push(message) };
    const made = (settings: number): Forwards =>
      createForwards({ stores: database.system, logger, settings: { ...DEFAULT_SETTINGS, resyncSeconds: settings } });
    // Only these adapters are used.
    const adapters = {
      server: where.server,
      engine: { containers: { forwards: fake.forwarder } },
    } as unknown as ServerAdapters;
    const forwards = made(resyncSeconds);
    return {
      ...{ stores, where, fake, warnings, adapters },
      async publicDatabase(port: number): Promise<DatabaseRecord> {
        const record = await testDatabaseResource(stores, where, { is_public: true, public_port: port });
        await stores.resources.setDesiredState(record.id, "running");
        return record;
      },
      /** Runs one check to its end. @param isAfresh Whether a new worker does it. */
      async look(isAfresh = false) {
        const used = isAfresh ? made(resyncSeconds) : forwards;
        used.sync(adapters, {});
        await used.stop();
      },
      events: async (type: string) =>
        (await stores.events.list({})).filter((event) => event.type === type).map(({ payload }) => payload),
    };
  }

  test("lead to its public databases while these shall run", async () => {
    const one = await at.publicDatabase(15_001);
    await at.publicDatabase(15_002);
    await testDatabaseResource(at.stores, at.where);
    await at.look();
    expect(at.fake.ports()).toEqual([15_001, 15_002]);
    await at.stores.resources.setDesiredState(one.id, "stopped");
    await at.look();
    expect(at.fake.ports()).toEqual([15_002]);
  });

  test("go from one database to another at once", async () => {
    const one = await at.publicDatabase(15_003);
    await at.look();
    await at.stores.databases.update(one.id, { access: { is_public: false, public_port: 15_003 } });
    const other = await at.publicDatabase(15_003);
    await at.look();
    expect([...at.fake.open.keys()]).toEqual([other.uuid]);
  });

  test("are not asked for again while nothing has changed", async () => {
    await at.publicDatabase(15_004);
    await at.look();
    const before = at.fake.calls.length;
    await at.look();
    expect(at.fake.calls.length).toBe(before);
    at.fake.open.clear();
    // The first check reads everything.
    await at.look(true);
    expect(at.fake.ports()).toEqual([15_004]);
  });

  test("that something else has are reported once, hold up no other, and are opened when they are free", async () => {
    at = await place(0);
    const refused = await at.publicDatabase(15_005);
    await at.publicDatabase(15_006);
    at.fake.foreign.add(15_005);
    await at.look();
    await at.look();
    expect(at.fake.ports()).toEqual([15_006]);
    expect(await at.events("resource.port_refused")).toEqual([
      {
        ...{ resource_kind: "database", resource_name: refused.name, public_port: 15_005 },
        error: "Port 15005 is taken.",
      },
    ]);
    expect(at.warnings).toHaveLength(1);
    expect(await problemOf(refused)).toBe("Port 15005 is taken.");
    // A new worker knows what was reported before.
    await at.look(true);
    expect(await at.events("resource.port_refused")).toHaveLength(1);
    at.fake.foreign.clear();
    await until(
      async () => {
        await at.look();
        return at.fake.open.has(refused.uuid);
      },
      { what: "the port is open" },
    );
    expect(await at.events("resource.port_opened")).toHaveLength(1);
    expect(await problemOf(refused)).toBeNull();
  });

  test("that something else has are no trouble of another port, nor of a database that shall not run", async () => {
    at = await place(0);
    const refused = await at.publicDatabase(15_007);
    at.fake.foreign.add(15_007);
    await at.look();
    await at.stores.resources.setDesiredState(refused.id, "stopped");
    expect(await problemOf(refused)).toBeNull();
    await at.stores.resources.setDesiredState(refused.id, "running");
    expect(await problemOf(refused)).toBe("Port 15007 is taken.");
    await at.stores.databases.update(refused.id, { access: { is_public: true, public_port: 15_008 } });
    expect(await problemOf(refused)).toBeNull();
  });
});
