import { isDomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import type { ServiceContainerFields } from "@berth/core/ports";
import { testPlace, testService, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const fieldsOf = (name: string, fields: Partial<ServiceContainerFields> = {}) => ({
  uuid: testUuid(),
  kind: "application" as const,
  name,
  image: "nginx",
  ports: null,
  exposes: null,
  exclude_from_status: false,
  port: null,
  ...fields,
});
const claimOf = (host: string, service_container_id: number) => ({
  host,
  path: "/",
  url: `https://${host}`,
  service_container_id,
});

onEachBackend((database) => {
  const made = async (names: readonly string[] = ["web", "api"]) => {
    const stores = await testTeam(database());
    const { service, containers } = await testService(stores, await testPlace(stores), names);
    const [first, second] = containers;
    if (first === undefined) throw new Error("made above");
    return { stores, service, first, second: second ?? first };
  };
  const holderOf = (resourceId: number, ...containerIds: number[]) => ({ resourceId, pullRequestId: 0, containerIds });

  it("keeps a container while its name is there, adds new ones and drops the rest, in the given order", async () => {
    const { stores, service, first } = await made();
    const saved = await stores.services.saveContainers(service.id, [
      fieldsOf("db", { kind: "database", image: "postgres" }),
      fieldsOf("web", { image: "nginx:2", ports: "80:80", exclude_from_status: true }),
    ]);
    expect(saved.map(({ name, kind, image }) => [name, kind, image])).toEqual([
      ["db", "database", "postgres"],
      ["web", "application", "nginx:2"],
    ]);
    expect(saved[1]).toMatchObject({ id: first.id, uuid: first.uuid, ports: "80:80", exclude_from_status: true });
    expect(saved[0]).toMatchObject({ status: "exited", fqdn: null, resource_id: service.id });
    expect(await stores.services.containers([service.id])).toEqual(saved);
    expect(await stores.services.findContainer(first.uuid)).toEqual(saved[1]);
    expect(await stores.services.saveContainers(service.id, [])).toEqual([]);
  });

  it("keeps its compose text sealed, for its own service only", async () => {
    const { stores, service } = await made();
    await stores.services.update(service.id, { secrets: { docker_compose_raw: "services: {}", docker_compose: "x" } });
    expect(await stores.services.secrets(service.id)).toEqual({
      docker_compose_raw: "services: {}",
      docker_compose: "x",
    });
    await stores.services.update(service.id, {
      secrets: { docker_compose: "y" },
      settings: { connect_to_docker_network: true },
    });
    expect(await stores.services.secrets(service.id)).toEqual({
      docker_compose_raw: "services: {}",
      docker_compose: "y",
    });
    expect((await stores.services.find(service.uuid))?.settings).toEqual({
      connect_to_docker_network: true,
      is_container_label_escape_enabled: true,
    });
    const { kysely } = database().database;
    const { secrets } = await kysely
      .selectFrom("service")
      .select("secrets")
      .where("resource_id", "=", service.id)
      .executeTakeFirstOrThrow();
    expect(Buffer.from(secrets ?? []).toString("latin1")).not.toContain("services");
    const { service: other } = await testService(stores, await testPlace(stores));
    await kysely.updateTable("service").set({ secrets }).where("resource_id", "=", other.id).execute();
    await expect(stores.services.secrets(other.id)).rejects.toThrow();
  });

  it("claims URLs for some containers and leaves those of the others", async () => {
    const { stores, service, first, second } = await made();
    const [one, two, three] = [`${testUuid()}.test`, `${testUuid()}.test`, `${testUuid()}.test`];
    const both = [claimOf(one, first.id), claimOf(two, second.id)];
    await stores.domains.claim(holderOf(service.id, first.id, second.id), both, { takeFromOwnTeam: false });
    await stores.domains.claim(holderOf(service.id, first.id), [claimOf(three, first.id)], { takeFromOwnTeam: false });
    const fqdns = async () => (await stores.services.containers([service.id])).map(({ fqdn }) => fqdn);
    expect(await fqdns()).toEqual([`https://${three}`, `https://${two}`]);
    expect(await stores.domains.holders([claimOf(two, 0)])).toMatchObject([
      { resource_uuid: service.uuid, resource_kind: "service", container_name: "api" },
    ]);
    expect(await stores.domains.holders([claimOf(two, 0)], holderOf(service.id, second.id))).toEqual([]);
    expect(await stores.domains.holders([claimOf(two, 0)], holderOf(service.id, first.id))).toHaveLength(1);
    const taken = stores.domains.claim(holderOf(service.id, first.id), [claimOf(two, first.id)], {
      takeFromOwnTeam: false,
    });
    await expect(taken).rejects.toSatisfy((error) => isDomainError(error, "domain.conflict"));
    await stores.domains.claim(holderOf(service.id, first.id), [claimOf(two, first.id)], { takeFromOwnTeam: true });
    expect(await fqdns()).toEqual([`https://${two}`, null]);
  });

  it("says of each URL to which container it leads, and to which port", async () => {
    const { stores, service, first } = await made();
    await stores.services.saveContainers(service.id, [fieldsOf("web", { port: 3000 }), fieldsOf("api")]);
    const [one, other] = [`${testUuid()}.test`, `${testUuid()}.test`];
    const claims = [claimOf(one, first.id), { host: other, path: "/", url: `https://${other}`, container: "worker" }];
    await stores.domains.claim(holderOf(service.id, first.id), claims, { takeFromOwnTeam: false });
    const expected = [
      { host: one, container: "web", container_port: 3000 },
      { host: other, container: "worker" },
    ];
    const { resources } = database().system;
    expect(await resources.routing(liveKeyOf(service))).toMatchObject({ domains: expected });
    const [found] = (await resources.listByServer(service.server_id)).filter(({ id }) => id === service.id);
    expect(found?.domains).toMatchObject(expected);
    expect(await stores.domains.holders([claimOf(other, 0)])).toMatchObject([{ container_name: "worker" }]);
    const containers = await stores.services.containers([service.id]);
    expect(containers.map(({ name, port }) => [name, port])).toEqual([
      ["web", 3000],
      ["api", null],
    ]);
  });

  it("lets the URLs of a container go with it", async () => {
    const { stores, service, first } = await made();
    const host = `${testUuid()}.test`;
    await stores.domains.claim(holderOf(service.id, first.id), [claimOf(host, first.id)], { takeFromOwnTeam: false });
    await stores.services.saveContainers(service.id, [fieldsOf("other")]);
    expect(await stores.domains.holders([claimOf(host, 0)])).toEqual([]);
  });

  it("gives no URL to a container of another service", async () => {
    const [mine, theirs] = [await made(), await made()];
    const host = `${testUuid()}.test`;
    const claims = [claimOf(host, theirs.first.id)];
    await mine.stores.domains.claim(holderOf(mine.service.id, mine.first.id), claims, { takeFromOwnTeam: true });
    expect(await theirs.stores.services.findContainer(theirs.first.uuid)).toMatchObject({ fqdn: null });
    expect(await mine.stores.domains.holders([claimOf(host, 0)])).toMatchObject([{ container_name: null }]);
  });

  it("[S30] writes what was observed of each container and of all, and emits an event once", async () => {
    const { stores, service } = await made();
    const { services, resources } = database().system;
    const subject = async (id: number) => {
      const found = await resources.subject(id);
      return found?.kind === "service" ? found : undefined;
    };
    const seen = { web: "running:healthy", api: "restarting:unknown", unknown: "running:healthy" };
    await services.setStatuses(service.id, { status: "degraded:unhealthy", containers: seen });
    await services.setStatuses(service.id, { status: "degraded:unhealthy", containers: seen });
    const found = await subject(service.id);
    await services.setStatuses(service.id, { status: "degraded:unhealthy", containers: seen, problem: "n1 is down." });
    expect((await subject(service.id))?.record.status_problem).toBe("n1 is down.");
    await services.setStatuses(service.id, { status: "degraded:unhealthy", containers: seen });
    expect((await subject(service.id))?.record.status_problem).toBeNull();
    expect(found?.record.status).toBe("degraded:unhealthy");
    expect(found?.containers.map(({ status }) => status)).toEqual(["running:healthy", "restarting:unknown"]);
    expect(found?.containers.map(({ last_online_at }) => last_online_at === null)).toEqual([false, true]);
    const kept = await subject(service.id);
    const late = { status: "starting:unknown", containers: { web: "starting:unknown" }, replaces: "exited" };
    await services.setStatuses(service.id, late);
    expect(await subject(service.id)).toEqual(kept);
    expect([...(await resources.subjects("service", [service.id, -1]))]).toEqual([[service.id, kept]]);
    const events = (await stores.events.list({})).filter(({ type }) => type === "resource.status_changed");
    expect(events.map(({ payload }) => payload.status_problem)).toEqual([undefined, "n1 is down.", undefined]);
    expect(await subject(-1)).toBeUndefined();
  });
});
