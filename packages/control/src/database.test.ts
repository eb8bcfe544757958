import { DATABASE_ENGINE_NAMES } from "@berth/core/database";
import { BACKENDS, printingEngine } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, outcomes, secondDestination, type World, world } from "./world.fixture.ts";

/** A world whose server can run databases too. */
const worldWithDatabases = () => world({ engineFor: () => printingEngine({ kinds: ["application", "database"] }) });

describe.each(BACKENDS)("databases made at once on %s", (backend) => {
  let at: World;
  beforeAll(async () => {
    at = await world({ backend });
  });
  afterAll(() => at.db.close());

  test("give a port that all want to exactly one, and leave nothing of the others", async () => {
    const wanted = { is_public: true, public_port: 15_432 };
    const works = DATABASE_ENGINE_NAMES.map((engine) => at.own.databases.create(engine, { ...at.where, ...wanted }));
    const results = await outcomes(works);
    expect(results.toSorted()).toEqual([...Array(7).fill("Public port already used by another database."), "done"]);
    expect((await at.own.databases.list({})).total).toBe(1);
  });

  test("which turn public at once get it once, and the others stay as they were", async () => {
    const port = { public_port: 16_432 };
    const made = await Promise.all(
      [1, 2, 3, 4].map(() => at.own.databases.create("postgresql", { ...at.where, ...port })),
    );
    const turned = made.map(({ uuid }) => at.own.databases.update(uuid, { is_public: true, description: "public" }));
    expect((await outcomes(turned)).filter((result) => result === "done")).toHaveLength(1);
    const { items } = await at.own.databases.list({});
    const shown = items.filter(({ public_port }) => public_port === port.public_port);
    expect(shown.map(({ is_public, description }) => is_public === (description === "public"))).toEqual(
      Array(4).fill(true),
    );
  });
});

describe("a new database", () => {
  let at: World;
  beforeAll(async () => {
    at = await worldWithDatabases();
  });
  afterAll(() => at.db.close());
  const create = (fields: object = {}) => at.own.databases.create("postgresql", { ...at.where, ...fields });
  const stored = async (uuid: string) => {
    const database = await at.stores.databases.find(uuid);
    if (database === undefined) throw new Error("It was not made.");
    return database;
  };

  test("has a password of 64 letters and digits, and a volume for its data", async () => {
    const { uuid, internal_db_url, ...rest } = await create();
    const { id } = await stored(uuid);
    const { postgres_password } = (await at.stores.databases.secretsOf([id])).get(id) ?? {};
    expect(postgres_password).toMatch(/^[A-Za-z0-9]{64}$/);
    expect([internal_db_url, rest]).toEqual([`postgres://postgres:${postgres_password}@${uuid}:5432/postgres`, {}]);
    expect((await at.stores.storages.list(id)).items).toMatchObject([
      { name: `${uuid}-data`, mount_path: "/var/lib/postgresql/data", is_managed: true },
    ]);
  });

  test("shows how it is reached from outside only when it is, with its password for those who may read secrets", async () => {
    const writer = at.as(at.place.server.team_id, "write", "read:sensitive");
    const where = { ...at.where, postgres_password: "p/w" };
    const open = await writer.databases.create("postgresql", { ...where, is_public: true, public_port: 17_000 });
    expect(open.external_db_url).toBe("postgres://postgres:p%2Fw@127.0.0.1:17000/postgres");
    const blind = await at.as(at.place.server.team_id, "write").databases.create("postgresql", where);
    expect(blind.internal_db_url).toBe(`postgres://postgres@${blind.uuid}:5432/postgres`);
    const closed = await writer.databases.create("postgresql", { ...where, is_public: true });
    expect([closed.external_db_url, (await stored(closed.uuid)).is_public]).toEqual([undefined, false]);
  });

  test("is started when that is asked for, by those who may deploy", async () => {
    const asked = at.as(at.place.server.team_id, "write").databases;
    await expect(asked.create("redis", { ...at.where, instant_deploy: true })).rejects.toMatchObject({
      code: "auth.missing_ability",
      message: "Missing required permissions: deploy",
    });
    const writer = at.as(at.place.server.team_id, "write", "deploy");
    const { uuid } = await writer.databases.create("redis", { ...at.where, instant_deploy: true });
    expect((await stored(uuid)).desired_state).toBe("running");
    expect((await stored((await create()).uuid)).desired_state).toBe("stopped");
  });

  test("is started by /deploy beside applications: all that is asked for, or nothing", async () => {
    const { uuid } = await create({ name: "orders" });
    const app = await at.own.applications.createPublic(gitApplication(at));
    const answer = await at.own.deploy({ uuid: `${uuid},${app.uuid},unknown` });
    expect(answer.deployments).toEqual([
      { resource_uuid: uuid, deployment_uuid: expect.any(String), message: "Database orders started." },
      expect.objectContaining({ resource_uuid: app.uuid, deployment_uuid: expect.any(String) }),
    ]);
    expect((await stored(uuid)).desired_state).toBe("running");
    const preview = await at.own.deploy({ uuid, pull_request_id: 7 });
    expect(preview.deployments).toEqual([
      { resource_uuid: uuid, message: "Database orders has no previews of pull requests." },
    ]);

    const without = await world();
    const { uuid: theirs } = await without.own.databases.create("mysql", without.where);
    const other = await without.own.applications.createPublic(gitApplication(without));
    const refused = without.own.deploy({ uuid: `${theirs},${other.uuid}` });
    await expect(refused).rejects.toMatchObject({ code: "engine.unsupported" });
    expect((await without.own.deployments.listActive({})).total).toBe(0);
    await without.db.close();
  });

  test("needs its project, its server and an environment, told apart in this order", async () => {
    const nowhere = { project_uuid: "x", server_uuid: "x", environment_name: "x" };
    const refusals = [
      create({ ...nowhere, environment_name: " " }),
      create(nowhere),
      create({ ...nowhere, project_uuid: at.where.project_uuid }),
      create({ ...nowhere, project_uuid: at.where.project_uuid, environment_name: "production" }),
      create({ ...at.otherTeam.where, project_uuid: at.where.project_uuid }),
    ];
    const results = await Promise.allSettled(refusals);
    expect(results.map((result) => (result.status === "rejected" ? result.reason.code : "done"))).toEqual([
      "request.invalid",
      "resource.not_found",
      "request.invalid",
      "resource.not_found",
      "resource.not_found",
    ]);
  });

  test("names its destination where the server has several", async () => {
    const { server } = at.place;
    const second = await secondDestination(at.stores, server);
    await expect(create()).rejects.toMatchObject({
      code: "destination.ambiguous",
      message: expect.stringMatching(/multiple destinations.*destination_uuid/),
    });
    await expect(create({ destination_uuid: "x" })).rejects.toMatchObject({ code: "request.invalid" });
    const { uuid } = await create({ destination_uuid: second.uuid });
    expect((await at.own.databases.get(uuid)).destination_uuid).toBe(second.uuid);
  });
});

describe("a backup at once", () => {
  let at: World;
  beforeAll(async () => {
    at = await worldWithDatabases();
  });
  afterAll(() => at.db.close());

  test("is asked for where the server runs databases, and once however often it is asked for", async () => {
    const { uuid } = await at.own.databases.create("mysql", at.where);
    const begun = () => at.db.system.backups.beginRequested([at.place.server.id]);
    const { uuid: schedule } = await at.own.backups.create(uuid, { frequency: "daily", backup_now: true });
    await at.own.backups.update(uuid, schedule, { backup_now: true });
    expect(await begun()).toBe(1);
    const [shown] = (await at.own.backups.list(uuid, {})).items;
    expect([shown?.uuid, shown?.executions.length]).toEqual([schedule, 1]);
    await at.own.backups.create(uuid, { frequency: "daily" });
    expect(await begun()).toBe(0);
  });

  test("emits events about its schedule, and needs the ability to write", async () => {
    const { uuid } = await at.own.databases.create("mysql", at.where);
    const { uuid: schedule } = await at.own.backups.create(uuid, { frequency: "daily" });
    const reader = at.as(at.place.server.team_id, "read");
    const works = [
      reader.backups.create(uuid, { frequency: "daily" }),
      reader.backups.update(uuid, schedule, { enabled: false }),
      reader.backups.delete(uuid, schedule),
      reader.s3Storages.delete("x"),
    ];
    expect(await outcomes(works)).toEqual(works.map(() => "Missing required permissions: write"));
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid);
    expect(events.at(-1)).toMatchObject({ type: "resource.backups_changed", payload: { created: schedule } });
  });
});
