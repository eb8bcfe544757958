import { testKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

describe("projects", () => {
  test("begin with the environment production", async () => {
    const { uuid } = await at.own.projects.create({ name: "Garden", description: "Plants" });
    expect(await at.own.projects.get(uuid)).toMatchObject({
      name: "Garden",
      description: "Plants",
      environments: [{ name: "production" }],
    });
  });

  test("[S26] are listed without their environments", async () => {
    for (const project of (await at.own.projects.list({})).items) {
      expect(Object.keys(project).sort()).toEqual(["description", "id", "name", "uuid"]);
    }
  });

  test("change by what is sent", async () => {
    const { uuid } = await at.own.projects.create({ name: "Before", description: "text" });
    expect(await at.own.projects.update(uuid, { name: null, description: null })).toEqual({
      uuid,
      name: "Before",
      description: null,
    });
  });

  test("and environments with resources stay", async () => {
    const { uuid } = await at.own.projects.create({ name: "Full" });
    const names = ["one", "two", "three", "four"];
    for (const name of names) {
      await at.own.applications.createPublic(gitApplication(at, { project_uuid: uuid, name }));
      const named = [
        ...names
          .slice(0, names.indexOf(name) + 1)
          .slice(0, 3)
          .map((each) => `Application ${each}`),
      ];
      if (name === "four") named.push("others");
      const remedy = `Delete or move them first: ${named.join(", ")}.`;
      await expect(at.own.projects.delete(uuid)).rejects.toThrow(
        `Project has resources, so it cannot be deleted. ${remedy}`,
      );
      await expect(at.own.environments.delete(uuid, "production")).rejects.toThrow(
        `Environment has resources, so it cannot be deleted. ${remedy}`,
      );
    }
    // Those that are being removed are not named, however many they are.
    const staying = "five";
    await at.own.applications.createPublic(gitApplication(at, { project_uuid: uuid, name: staying }));
    for (const { uuid: application, name } of (await at.own.applications.list({})).items) {
      if (names.includes(name)) await at.own.lifecycle.delete({ kind: "application", uuid: application }, {});
    }
    await expect(at.own.projects.delete(uuid)).rejects.toThrow(`Delete or move them first: Application ${staying}.`);
    const empty = await at.own.projects.create({ name: "Empty" });
    expect(await at.own.projects.delete(empty.uuid)).toEqual({ message: "Project deleted." });
    await expect(at.own.projects.get(empty.uuid)).rejects.toThrow("Project not found.");
  });

  test("are free as soon as the deletion of the last resource was answered, and so are environments and keys", async () => {
    const key = await at.own.privateKeys.create({ private_key: testKey(testUuid()) });
    const { uuid } = await at.own.projects.create({ name: "Leaving" });
    const staging = await at.own.environments.create(uuid, { name: "staging" });
    const made = await Promise.all(
      ["production", "staging"].map((environment_name) =>
        at.own.applications.createDeployKey({
          ...gitApplication(at, { project_uuid: uuid, environment_name }),
          private_key_uuid: key.uuid,
        }),
      ),
    );
    for (const { uuid } of made) await at.own.lifecycle.delete({ kind: "application", uuid }, {});
    const { stores } = at;
    const records = await Promise.all(
      made.map((app) => stores.resources.find({ kind: "application", uuid: app.uuid })),
    );
    const deleting = Promise.all([
      at.own.privateKeys.delete(key.uuid),
      at.own.environments.delete(uuid, staging.uuid).then(() => at.own.projects.delete(uuid)),
    ]);
    for (const record of records) await at.db.system.resources.delete(record?.id ?? 0);
    expect(await deleting).toEqual([{ message: "Private Key deleted." }, { message: "Project deleted." }]);
  });

  test("are in use while a removal takes longer than a client waits", async () => {
    const { uuid } = await at.own.projects.create({ name: "Slow" });
    const app = await at.own.applications.createPublic(gitApplication(at, { project_uuid: uuid }));
    await at.own.lifecycle.delete({ kind: "application", uuid: app.uuid }, {});
    await expect(at.own.projects.delete(uuid)).rejects.toMatchObject({ code: "resource.in_use" });
  });

  test("[S67] of another team are not found", async () => {
    const { project_uuid } = at.where;
    const { projects, environments } = at.otherTeam.control;
    const asked = [
      projects.get(project_uuid),
      projects.update(project_uuid, { name: "Mine" }),
      projects.delete(project_uuid),
      environments.list(project_uuid, {}),
      environments.get(project_uuid, "production"),
      environments.create(project_uuid, { name: "staging" }),
      environments.delete(project_uuid, "production"),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Project not found."));
  });
});

describe("environments", () => {
  test("[S27] are found by name or identifier, with what lives in them", async () => {
    const { project_uuid } = at.where;
    const { uuid } = await at.own.environments.create(project_uuid, { name: "staging" });
    await at.own.applications.createPublic(gitApplication(at, { environment_name: "staging", name: "Here" }));
    const byName = await at.own.environments.get(project_uuid, "staging");
    expect(await at.own.environments.get(project_uuid, uuid)).toEqual(byName);
    expect(byName).toMatchObject({ uuid, services: [], redis: [] });
    expect(byName.applications.map(({ name }) => name)).toEqual(["Here"]);
    await expect(at.own.environments.create(project_uuid, { name: "staging" })).rejects.toMatchObject({
      code: "resource.already_exists",
      message: "Environment with this name already exists.",
    });
  });
});

describe("servers", () => {
  test("[S19] [S20] have their settings in an object", async () => {
    const server = await at.own.servers.get(at.where.server_uuid);
    expect(server.settings).toMatchObject({ delete_unused_volumes: false, delete_unused_networks: false });
    expect(Object.keys(server).filter((key) => key.startsWith("delete_unused"))).toEqual([]);
    expect(server).toMatchObject({ engine: "process", is_coolify_host: true, proxy: { redirect_enabled: true } });
  });

  test("change by what is sent, and keep their other settings", async () => {
    const { server_uuid } = at.where;
    await at.own.servers.update(server_uuid, { name: "home", deployment_queue_limit: 3, dynamic_timeout: null });
    await at.own.servers.update(server_uuid, { concurrent_builds: 4 });
    expect(await at.own.servers.get(server_uuid)).toMatchObject({
      name: "home",
      settings: { deployment_queue_limit: 3, concurrent_builds: 4, dynamic_timeout: 3600, is_reachable: true },
    });
  });

  test("that are this machine keep their address and their proxy", async () => {
    const { server_uuid } = at.where;
    await expect(at.own.servers.update(server_uuid, { ip: "203.0.113.1" })).rejects.toMatchObject({
      code: "request.invalid",
      fields: { ip: [expect.any(String)] },
    });
    await expect(at.own.servers.update(server_uuid, { proxy_type: "caddy" })).rejects.toMatchObject({
      code: "engine.unsupported",
    });
    expect(await at.own.servers.update(server_uuid, { ip: "127.0.0.1", proxy_type: "none" })).toEqual({
      uuid: server_uuid,
    });
  });

  test("list what runs on them", async () => {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at, { name: "There" }));
    const { items } = await at.own.servers.resources(at.where.server_uuid, {});
    expect(items.find((item) => item.uuid === uuid)).toMatchObject({ type: "application", status: "exited:unhealthy" });
    const { resources } = await at.own.servers.get(at.where.server_uuid, { resources: true });
    expect(resources).toEqual(items);
  });

  test("[S67] of another team are not found", async () => {
    const { servers } = at.otherTeam.control;
    const { server_uuid } = at.where;
    const asked = [servers.get(server_uuid), servers.update(server_uuid, {}), servers.resources(server_uuid, {})];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Server not found."));
  });
});

describe("all resources", () => {
  test("are listed with their kind and number", async () => {
    const { items, total } = await at.own.resources.list({ take: 1 });
    expect(items).toHaveLength(1);
    expect(total).toBeGreaterThan(1);
    expect(items[0]).toMatchObject({ type: "application", id: expect.any(Number), status: expect.any(String) });
    expect((await at.otherTeam.control.resources.list({})).total).toBe(0);
  });
});
