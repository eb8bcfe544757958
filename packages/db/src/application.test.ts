import { ApplicationSecrets, type ApplicationSettings } from "@berth/core/application";
import { testApplication, testPlace, testServer, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("keeps an application with all its settings and the names of where it lives", async () => {
    const stores = await testTeam(database());
    const { project, environment, server, destination } = await testPlace(stores);
    const application = await testApplication(stores, { environment, server, destination }, { name: "Größe ✓" });
    expect(await stores.applications.find(application.uuid)).toEqual(application);
    expect(application).toMatchObject({
      kind: "application",
      name: "Größe ✓",
      status: "exited:unhealthy",
      desired_state: "stopped",
      fqdn: null,
      restart_count: 0,
      removing_at: null,
      placement: {
        project_uuid: project.uuid,
        project_name: project.name,
        environment_uuid: environment.uuid,
        environment_name: "production",
        server_uuid: server.uuid,
        server_name: server.name,
        server_ip: server.ip,
        server_engine: server.engine,
        is_server_functional: true,
        destination_uuid: destination.uuid,
        destination_name: destination.name,
        destination_network: destination.network,
      },
    });
    expect(application.settings.git_branch).toBe("");
    expect(application.created_at).toBeInstanceOf(Date);
  });

  it("shares no list between teams, kinds, filters or pages that are asked for at once", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const place = await testPlace(one);
    const [first, second] = [await testApplication(one, place), await testApplication(one, place)];
    const foreign = await testApplication(other, await testPlace(other));
    const { applications, databases } = one;
    const lists = [
      applications.list({}),
      other.applications.list({}),
      databases.list({}),
      applications.list({ tag: "blue" }),
      applications.list({}, { skip: 1, take: 1 }),
      applications.list({}),
    ];
    const found = (await Promise.all<{ readonly items: readonly { readonly uuid: string }[] }>(lists)).map(
      ({ items }) => items.map(({ uuid }) => uuid),
    );
    const all = [first.uuid, second.uuid];
    expect(found).toEqual([all, [foreign.uuid], [], [], [second.uuid], all]);
  });

  it("says that a server is not functional once it is unreachable or disabled", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { uuid } = await testApplication(stores, place);
    for (const settings of [{ is_reachable: false }, { is_usable: false }, { force_disabled: true }]) {
      await stores.servers.update(place.server.uuid, { settings: { ...place.server.settings, ...settings } });
      expect((await stores.applications.find(uuid))?.placement.is_server_functional).toBe(false);
    }
  });

  it("says that a server is functional while another manager of its cluster replaces it", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { uuid } = await testApplication(stores, place);
    const settings = { ...place.server.settings, is_reachable: false, is_substituted: true };
    await stores.servers.update(place.server.uuid, { settings });
    expect((await stores.applications.find(uuid))?.placement.is_server_functional).toBe(true);
  });

  it("keeps the lasting name of a container for one resource of its server", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => testApplication(stores, place)));
    if (one === undefined || two === undefined || three === undefined) throw new Error("There are three.");
    const name = (to: { readonly id: number }, custom_internal_name: string | null, isOn = true) =>
      stores.applications.update(to.id, {
        settings: { is_consistent_container_name_enabled: isOn, custom_internal_name },
      });
    const taken = { code: "resource.already_exists", fields: { custom_internal_name: [expect.any(String)] } };
    // Two applications may choose the same name as long as only one uses it.
    await name(two, "shop", false);
    await name(one, "shop");
    await expect(name(two, "shop")).rejects.toMatchObject(taken);
    await expect(name(two, one.uuid)).rejects.toMatchObject(taken);
    await name(one, "shop");
    await name(one, null);
    await name(two, "shop");
    await stores.applications.update(two.id, { settings: { start_command: "node ." } });
    await expect(name(three, "shop")).rejects.toMatchObject(taken);
    await name(two, "shop", false);
    const race = await Promise.allSettled([one, two, three].map((each) => name(each, "race")));
    expect(race.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const elsewhere = await testApplication(stores, { ...place, ...(await testServer(stores)) });
    expect((await name(elsewhere, "race"))?.settings.custom_internal_name).toBe("race");
    // The name follows the resource to another server, and is free on the one before.
    const { server_id } = await testApplication(stores, { ...place, ...(await testServer(stores)) });
    await name(two, "moved");
    const { kysely } = database().database;
    await kysely.updateTable("resource").set({ server_id }).where("id", "=", two.id).execute();
    await name(two, "moved");
    expect((await name(three, "moved"))?.settings.custom_internal_name).toBe("moved");
  });

  it("merges settings key by key, also when two change different ones at once", async () => {
    const stores = await testTeam(database());
    const { id, uuid } = await testApplication(stores, await testPlace(stores));
    const changes: Partial<ApplicationSettings>[] = [
      { git_branch: "main" },
      { ports_exposes: "8080" },
      { custom_nginx_configuration: "a=b" },
      { start_command: "node ." },
    ];
    await Promise.all(changes.map((settings) => stores.applications.update(id, { settings })));
    const { settings } = (await stores.applications.find(uuid)) ?? {};
    expect(settings).toMatchObject(Object.assign({}, ...changes));
    const cleared = await stores.applications.update(id, { settings: { start_command: null } });
    expect(cleared?.settings).toMatchObject({ start_command: null, git_branch: "main" });
  });

  it("changes name and description only when they are given", async () => {
    const stores = await testTeam(database());
    const { id, updated_at } = await testApplication(stores, await testPlace(stores));
    const named = await stores.applications.update(id, { name: "shop", description: "Sells" });
    expect(named).toMatchObject({ name: "shop", description: "Sells" });
    expect(named?.updated_at.getTime()).toBeGreaterThanOrEqual(updated_at.getTime());
    expect(await stores.applications.update(id, { description: null })).toMatchObject({
      name: "shop",
      description: null,
    });
    expect(await stores.applications.update(999_999, { name: "x" })).toBeUndefined();
  });

  it("keeps secrets encrypted, and changes one without touching the others", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testApplication(stores, place);
    await stores.applications.update(id, { secrets: { http_basic_auth_password: "hunter2-ü" } });
    await stores.applications.update(id, { secrets: { manual_webhook_secret_github: "shh" } });
    const expected = ApplicationSecrets.parse({
      http_basic_auth_password: "hunter2-ü",
      manual_webhook_secret_github: "shh",
    });
    expect(await stores.applications.secrets(id)).toEqual(expected);
    const { id: otherId } = await testApplication(stores, place);
    expect(await stores.applications.secretsOf([id, otherId, 999_999])).toEqual(
      new Map([
        [id, expected],
        [otherId, ApplicationSecrets.parse({})],
      ]),
    );
    expect((await database().system.resources.subject(id))?.secrets).toEqual(expected);
    const { rows } = await sql<{ text: string }>`select encode(secrets, 'escape') as text from application
      where resource_id = ${id}`.execute(database().database.kysely);
    expect(rows[0]?.text).not.toMatch(/hunter2|shh|password/);
  });

  it("does not open a secret that was copied to another application", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testApplication(stores, place);
    const { id: thief } = await testApplication(stores, place);
    await sql`update application set secrets = (select secrets from application where resource_id = ${id})
      where resource_id = ${thief}`.execute(database().database.kysely);
    await expect(stores.applications.secrets(thief)).rejects.toMatchObject({ code: "internal.error" });
  });

  it("lists by environment and by exact tag, with the total of all that match", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const staging = await stores.environments.insert({
      uuid: testUuid(),
      project_id: place.project.id,
      name: "staging",
      description: null,
    });
    const applications = [];
    for (const environment of [place.environment, staging, staging]) {
      applications.push(await testApplication(stores, { ...place, environment }));
    }
    const [first, second, third] = applications;
    await stores.tags.attach(second?.id ?? -1, [{ uuid: testUuid(), name: "blue" }]);
    await stores.tags.attach(third?.id ?? -1, [{ uuid: testUuid(), name: "blue" }]);
    await stores.tags.attach(first?.id ?? -1, [{ uuid: testUuid(), name: "blue-2" }]);

    expect(await stores.applications.list({})).toEqual({ items: applications, total: 3 });
    expect(await stores.applications.list({}, { skip: 1, take: 1 })).toEqual({ items: [second], total: 3 });
    expect(await stores.applications.list({ environment_id: staging.id }, { take: 1 })).toEqual({
      items: [second],
      total: 2,
    });
    expect(await stores.applications.list({ tag: "blue" }, { take: 1 })).toEqual({ items: [second], total: 2 });
    expect(await stores.applications.list({ tag: "BLUE" })).toEqual({ items: [], total: 0 });
    expect(await stores.applications.list({ tag: "blue", environment_id: place.environment.id })).toEqual({
      items: [],
      total: 0,
    });
  });

  it("keeps the totals right through rollbacks and deletions", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testApplication(stores, place);
    await testApplication(stores, place);
    const undone = stores.transaction(async (tx) => {
      await testApplication(tx, place);
      throw new Error("on purpose");
    });
    await expect(undone).rejects.toThrow("on purpose");
    expect((await stores.applications.list({}, { take: 1 })).total).toBe(2);
    await database().system.resources.delete(id);
    expect((await stores.applications.list({}, { take: 1 })).total).toBe(1);
    expect((await stores.resources.list({}, { take: 1 })).total).toBe(1);
  });

  it("makes no application in another team's environment, or on a destination of another server", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [own, foreign] = [await testPlace(one), await testPlace(other)];
    const second = await testServer(one);
    const places = [
      { ...own, environment: foreign.environment },
      { ...own, server: foreign.server, destination: foreign.destination },
      { ...own, destination: second.destination },
    ];
    for (const place of places) {
      await expect(testApplication(one, place)).rejects.toMatchObject({ code: "resource.not_found" });
    }
    expect((await one.applications.list({})).total).toBe(0);
  });
});
