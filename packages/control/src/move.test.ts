import type { ResourceRef } from "@berth/core/resource";
import { printingEngine } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world({ engineFor: () => printingEngine({ kinds: ["application", "database"] }) });
});
afterAll(() => at.db.close());

describe("a resource that moves to another environment", () => {
  let app: ResourceRef;
  let db: ResourceRef;
  let dbName: string;
  /** Of another project of the team. */
  let target: { readonly project_uuid: string; readonly environment_name: string; readonly environment_uuid: string };
  let number = 0;
  beforeEach(async () => {
    number += 1;
    dbName = `shopdb ${number}`;
    app = { kind: "application", ...(await at.own.applications.createPublic(gitApplication(at))) };
    db = { kind: "database", ...(await at.own.databases.create("postgresql", { ...at.where, name: dbName })) };
    const { uuid: project_uuid } = await at.own.projects.create({ name: `Shop ${number}` });
    const { uuid: environment_uuid } = await at.own.environments.create(project_uuid, { name: "staging" });
    target = { project_uuid, environment_name: "staging", environment_uuid };
  });
  const attach = () => at.own.attachments.attach(db.uuid, { resource_uuid: app.uuid });
  const move = (ref: ResourceRef, force?: boolean) =>
    at.own.moves.move(ref, { environment_uuid: target.environment_uuid, force });
  const isAtTarget = async ({ uuid }: ResourceRef) => {
    const { applications, postgresqls } = await at.own.environments.get(target.project_uuid, target.environment_name);
    return [...applications, ...postgresqls].some((one) => one.uuid === uuid);
  };
  const realValues = async () => (await at.own.envs.list(app, {})).items.map(({ real_value }) => real_value);

  test("is listed there, and its event says where it went", async () => {
    expect(await move(app)).toEqual({
      message: "Application moved successfully.",
      uuid: app.uuid,
      project_uuid: target.project_uuid,
      environment_uuid: target.environment_uuid,
    });
    expect(await move(db)).toMatchObject({ message: "Database moved successfully." });
    expect([await isAtTarget(app), await isAtTarget(db)]).toEqual([true, true]);
    const { events } = await at.own.activity.list({ take: 2 });
    expect(events).toMatchObject([
      { type: "resource.moved", resource_uuid: db.uuid, payload: { environment: "staging" } },
      { type: "resource.moved", resource_uuid: app.uuid, payload: { project_uuid: target.project_uuid } },
    ]);
  });

  test("uses the shared variables of the new environment", async () => {
    const owner = (uuid: string, name: string) =>
      ({ scope: "environment", uuid, environment_name_or_uuid: name }) as const;
    const here = owner(at.where.project_uuid, at.where.environment_name);
    const there = owner(target.project_uuid, target.environment_name);
    const key = `LEVEL_${number}`;
    await at.own.sharedVariables.create(here, { key, value: "production" });
    await at.own.sharedVariables.create(there, { key, value: "staging" });
    await at.own.envs.create(app, { key: "LEVEL", value: `{{ environment.${key} }}`, is_literal: true });
    expect(await realValues()).toEqual(["'production'", "'production'"]);
    await move(app);
    expect(await realValues()).toEqual(["'staging'", "'staging'"]);
  });

  test("is refused while its variables would lose a database, and nothing is changed", async () => {
    await attach();
    await at.own.envs.create(app, { key: "UNKNOWN", value: "{{ project.NEVER }}" });
    await expect(move(app)).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringMatching(/does not have: DATABASE_URL\. Add it there .* force=true/),
      details: { variables: ["DATABASE_URL"] },
    });
    expect(await isAtTarget(app)).toBe(false);
    await move(app, true);
    expect(await isAtTarget(app)).toBe(true);
    expect(await realValues()).toContain(`{{ database.${dbName}.url }}`);
  });

  test("takes its reference along where the new environment has such a database", async () => {
    await attach();
    const place = { ...at.where, ...target };
    const { uuid } = await at.own.databases.create("postgresql", { ...place, name: dbName });
    await move(app);
    expect((await realValues())[0]).toContain(`@${uuid}:5432`);
  });

  test("is refused for a database that others use, unless forced", async () => {
    await attach();
    await expect(move(db)).rejects.toMatchObject({
      code: "resource.in_use",
      message: expect.stringContaining("or move it with force=true"),
    });
    await move(db, true);
    expect(await isAtTarget(db)).toBe(true);
    await move(app);
    expect(await realValues()).toEqual([expect.stringContaining(`@${db.uuid}:5432`), expect.anything()]);
  });

  test("is refused where it is already, or to an environment that does not exist", async () => {
    await move(app);
    await expect(move(app)).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("is in environment staging already"),
    });
    await expect(at.own.moves.move(app, { environment_uuid: "unknown" })).rejects.toMatchObject({
      code: "resource.not_found",
      message: "Target environment not found or not owned by your team.",
    });
  });
});
