import { isDomainError } from "@berth/core";
import type { ServerCreate, ValidationResult } from "@berth/core/server";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

let at: World;
let private_key_uuid: string;
beforeAll(async () => {
  at = await world();
  private_key_uuid = (await testPrivateKey(at.stores)).uuid;
});
afterAll(() => at.db.close());

const wanted = (fields: Partial<ServerCreate> = {}): ServerCreate => ({
  ip: `${testUuid()}.example`,
  private_key_uuid,
  ...fields,
});
const created = async (fields: Partial<ServerCreate> = {}) =>
  at.own.servers.get((await at.own.servers.create(wanted(fields))).uuid);
const applicationOn = (server_uuid: string) => at.own.applications.createPublic(gitApplication(at, { server_uuid }));
const TAKEN = "A server with this IP/Domain is already in use.";

describe("creating a server", () => {
  test("[S22] makes it with its settings, a proxy and one destination named after the product", async () => {
    const server = await created({ name: "web-1", port: 2222, user: "admin", proxy_type: "caddy" });
    expect(server).toMatchObject({
      name: "web-1",
      port: 2222,
      user: "admin",
      engine: "docker",
      proxy_type: "caddy",
      proxy: { type: "CADDY", status: "exited" },
      private_key_id: (await at.stores.privateKeys.find(private_key_uuid))?.id,
      is_coolify_host: false,
      is_validating: false,
      settings: { deployment_queue_limit: 25, concurrent_builds: 2, is_usable: false, is_build_server: false },
    });
    const { items } = await at.own.destinations.listOfServer(server.uuid, {});
    expect(items).toMatchObject([{ name: "berth", network: "berth", type: "standalone", server_uuid: server.uuid }]);
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === server.uuid);
    expect(events.map(({ type }) => type)).toEqual(["server.created"]);
  });

  test("gives it a name and the usual login when it has none", async () => {
    const { name, port, user, proxy_type } = await created();
    expect([name, port, user, proxy_type]).toEqual([expect.stringMatching(/^server-\w{8}$/), 22, "root", "traefik"]);
  });

  test("refuses an address that any team's server has, in whatever spelling", async () => {
    const ip = `${testUuid()}.example`;
    const theirKey = await testPrivateKey(at.db.stores(at.otherTeam.id));
    await at.otherTeam.control.servers.create({ ip, private_key_uuid: theirKey.uuid });
    const attempts = [ip, ip.toUpperCase(), "127.0.0.1"].map((taken) => at.own.servers.create(wanted({ ip: taken })));
    expect(await outcomes(attempts)).toEqual([TAKEN, TAKEN, TAKEN]);
  });

  test("gives an address to exactly one of many who ask at once", async () => {
    const ip = `${testUuid()}.example`;
    const found = await outcomes(Array.from({ length: 20 }, () => at.own.servers.create(wanted({ ip }))));
    expect(found.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(new Set(found)).toEqual(new Set(["done", TAKEN]));
    const { items } = await at.own.servers.list({});
    expect(items.filter((server) => server.ip === ip)).toHaveLength(1);
  });

  test("needs a key of the own team", async () => {
    const foreign = await testPrivateKey(at.db.stores(at.otherTeam.id));
    const attempts = [foreign.uuid, "nope"].map((uuid) => at.own.servers.create(wanted({ private_key_uuid: uuid })));
    expect(await outcomes(attempts)).toEqual(["Private key not found.", "Private key not found."]);
  });

  test("validates it at once when asked to", async () => {
    const server = await created({ instant_validate: true });
    expect(server.is_validating).toBe(true);
    const { items } = await at.own.jobs.list({ subject: server.uuid });
    expect(items).toMatchObject([{ type: "server.validate", status: "queued", subject_name: server.name }]);
  });
});

describe("changing a server", () => {
  test("[S22] sets its proxy, its key and its address, and remembers the one before", async () => {
    const server = await created();
    const key = await testPrivateKey(at.stores);
    const ip = `${testUuid()}.example`;
    await at.own.servers.update(server.uuid, { proxy_type: "none", private_key_uuid: key.uuid, ip });
    expect(await at.own.servers.get(server.uuid)).toMatchObject({
      proxy: { type: "NONE" },
      private_key_id: key.id,
      ip,
      ip_previous: server.ip,
    });
    await at.own.servers.update(server.uuid, { ip });
    expect((await at.own.servers.get(server.uuid)).ip_previous).toBe(server.ip);
  });

  test("refuses another server's address, and changes nothing then", async () => {
    const [server, other] = [await created(), await created()];
    expect(await outcomes([at.own.servers.update(server.uuid, { name: "new", ip: other.ip })])).toEqual([TAKEN]);
    expect(await at.own.servers.get(server.uuid)).toEqual(server);
  });

  test("keeps what a worker has found in the meantime", async () => {
    const server = await created();
    await Promise.all([
      at.stores.servers.update(server.uuid, { settings: { is_usable: true } }),
      at.own.servers.update(server.uuid, { concurrent_builds: 5 }),
    ]);
    expect((await at.own.servers.get(server.uuid)).settings).toMatchObject({ is_usable: true, concurrent_builds: 5 });
  });
});

describe("the host key of a server", () => {
  const key = `SHA256:${"k".repeat(43)}`;

  test("is the one given with a new server, else the first that its machine shows", async () => {
    expect(await created({ host_key: key })).toMatchObject({ host_key: key });
    const server = await created();
    expect(server.host_key).toBeNull();
    const record = await at.stores.servers.find(server.uuid);
    if (record === undefined) throw new Error("The server is gone.");
    const asked = [key, key.replace("k", "x")].map((shown) => at.db.system.servers.recordHostKey(record, shown));
    expect(new Set(await Promise.all(asked)).size).toBe(1);
    const { host_key } = await at.own.servers.get(server.uuid);
    expect(host_key).toMatch(/^SHA256:[kx]k+$/);
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === server.uuid);
    expect(events.at(-1)).toMatchObject({ type: "server.host_key_recorded", payload: { host_key } });
  });

  test("stays with other changes, and is forgotten with another address or port, or when asked to", async () => {
    const { uuid } = await created({ host_key: key });
    const after = async (change: Parameters<typeof at.own.servers.update>[1]) => {
      await at.own.servers.update(uuid, { host_key: key });
      await at.own.servers.update(uuid, change);
      return (await at.own.servers.get(uuid)).host_key;
    };
    expect(await after({ name: "renamed", user: "admin" })).toBe(key);
    expect(await after({ port: 2200 })).toBeNull();
    expect(await after({ ip: `${testUuid()}.example` })).toBeNull();
    expect(await after({ host_key: null })).toBeNull();
  });

  test("is not recorded for a machine that the server has left", async () => {
    const { uuid } = await created();
    const before = await at.stores.servers.find(uuid);
    if (before === undefined) throw new Error("The server is gone.");
    await at.own.servers.update(uuid, { ip: `${testUuid()}.example` });
    expect(await at.db.system.servers.recordHostKey(before, key)).toBeUndefined();
    expect((await at.own.servers.get(uuid)).host_key).toBeNull();
  });
});

describe("the machine that Berth runs on", () => {
  const refusals = [
    "Missing required permissions: root",
    "Only the root team may access the machine that Berth runs on.",
  ];

  test("is no address for a new server, nor for one that moves, unless the operator says so", async () => {
    const server = await created();
    const asRoot = at.as(server.team_id, "root").servers;
    expect(await outcomes([at.own.servers.create(wanted({ ip: "own.example" }))])).toEqual([refusals[0]]);
    expect(await outcomes([asRoot.create(wanted({ ip: "own.example" }))])).toEqual([refusals[1]]);
    expect(await outcomes([at.own.servers.update(server.uuid, { ip: "own.example" })])).toEqual([refusals[0]]);
    expect(await outcomes([asRoot.update(server.uuid, { ip: "own.example" })])).toEqual([refusals[1]]);
    expect((await at.own.servers.get(server.uuid)).ip).toBe(server.ip);
    const operator = at.as(ROOT_TEAM_ID, "root").servers;
    const key = await testPrivateKey(at.db.stores(ROOT_TEAM_ID));
    const { uuid } = await operator.create({ ip: "own.example", private_key_uuid: key.uuid });
    expect(await operator.update(uuid, { ip: "own.example", name: "here" })).toEqual({ uuid });
  });
});

describe("validating a server", () => {
  test("begins once, however often it is asked for", async () => {
    const { uuid } = await created();
    const answers = await Promise.all([1, 2, 3].map(() => at.own.servers.validate(uuid)));
    expect(new Set(answers.map(({ job_uuid }) => job_uuid)).size).toBe(1);
    expect(answers[0]?.message).toBe("Validation started.");
    expect((await at.own.servers.get(uuid)).is_validating).toBe(true);
  });
});

describe("installing an engine", () => {
  test("is a job of its own, begun once", async () => {
    const { uuid } = await created();
    const answers = await Promise.all(
      [{ install_engine: true }, { install: true }].map((sent) => at.own.servers.validate(uuid, sent)),
    );
    expect(new Set(answers.map(({ job_uuid }) => job_uuid)).size).toBe(1);
    const job = await at.own.jobs.get(answers[0]?.job_uuid ?? "");
    expect(job).toMatchObject({ type: "server.install_engine", status: "queued", log: null });
  });

  test("is a validation where Berth's own machine has an engine", async () => {
    const uuid = testUuid();
    await at.stores.servers.insert({ ...at.place.server, uuid, ip: "docker.localhost", engine: "docker" });
    const { message, job_uuid } = await at.own.servers.validate(uuid, { install: true });
    expect(message).toBe("Validation started.");
    expect(await at.own.jobs.get(job_uuid ?? "")).toMatchObject({ type: "server.validate" });
  });

  test("is refused for the machine that Berth runs on, without an engine", async () => {
    const local = at.own.servers.validate(at.place.server.uuid, { install_engine: true });
    await expect(local).rejects.toMatchObject({
      code: "engine.unsupported",
      fields: { install_engine: [expect.any(String)] },
    });
  });
});

describe("deleting a server", () => {
  test("[S50] is refused while it has resources", async () => {
    const { uuid, name } = await created();
    await applicationOn(uuid);
    const refusal = await at.own.servers.delete(uuid, {}).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "resource.in_use", message: expect.stringContaining("has resources") });
    expect(refusal).toMatchObject({ message: expect.stringContaining(name) });
    expect(await at.own.servers.get(uuid)).toMatchObject({ deleted_at: null });
  });

  test("continues when its last resource is being removed already", async () => {
    const { uuid } = await created();
    const application = await applicationOn(uuid);
    await at.own.lifecycle.delete({ kind: "application", uuid: application.uuid }, {});
    expect(await at.own.servers.delete(uuid, {})).toMatchObject({ job_uuid: expect.any(String) });
  });

  test("[S49] with force queues every resource for deletion first, and then the server", async () => {
    const { uuid } = await created();
    const uuids = [await applicationOn(uuid), await applicationOn(uuid)].map((application) => application.uuid);
    await at.own.deploy({ uuid: uuids[0] });
    const { job_uuid } = await at.own.servers.delete(uuid, { force: true });
    const found = [];
    for (const each of uuids) {
      expect(await at.own.applications.get(each)).toMatchObject({ status: "removing:unhealthy" });
      found.push(...(await at.own.jobs.list({ subject: each })).items);
    }
    expect(found).toMatchObject(uuids.map(() => ({ type: "resource.delete", status: "queued" })));
    expect(await at.own.jobs.get(job_uuid ?? "")).toMatchObject({ type: "server.delete", subject_uuid: uuid });
    expect((await at.own.deployments.listActive({})).items).toEqual([]);
    // A second request changes nothing and returns the same job.
    expect(await at.own.servers.delete(uuid, {})).toMatchObject({ job_uuid });
    expect((await at.own.servers.get(uuid)).deleted_at).not.toBeNull();
  });

  test("leaves no room for anything new", async () => {
    const { uuid } = await created();
    await at.own.servers.delete(uuid, {});
    const attempts = [
      applicationOn(uuid),
      at.own.destinations.create(uuid, { network: "late" }),
      at.own.servers.update(uuid, { name: "late" }),
      at.own.servers.validate(uuid),
    ];
    for (const message of await outcomes(attempts)) expect(message).toMatch(/^Server .* is being deleted\.$/);
  });

  test("is refused for the machine that Berth itself runs on", async () => {
    const attempts = [false, true].map((force) => at.own.servers.delete(at.where.server_uuid, { force }));
    const refusal = "Local server cannot be deleted.";
    expect(await outcomes(attempts)).toEqual([refusal, refusal]);
  });

  test("leaves nothing behind that was created at the same time", async () => {
    for (let round = 0; round < 5; round++) {
      const { uuid } = await created();
      const server = await at.stores.servers.find(uuid);
      const creations = Array.from({ length: 8 }, () => applicationOn(uuid));
      const deletion = Promise.race(creations).then(
        () => at.own.servers.delete(uuid, { force: true }),
        () => at.own.servers.delete(uuid, { force: true }),
      );
      const results = await Promise.allSettled([...creations, deletion]);
      expect(results.at(-1)?.status).toBe("fulfilled");
      const made = results.slice(0, -1).flatMap((result) => (result.status === "fulfilled" ? 1 : []));
      const { items } = await at.stores.resources.list({ server_id: server?.id ?? 0 });
      expect(items).toHaveLength(made.length);
      expect(items.filter(({ removing_at }) => removing_at === null)).toEqual([]);
      const jobs = await Promise.all(items.map((item) => at.own.jobs.list({ subject: item.uuid })));
      expect(jobs.map(({ total }) => total)).toEqual(items.map(() => 1));
      for (const result of results) {
        if (result.status === "rejected")
          expect(isDomainError(result.reason, "resource.state", "resource.not_found")).toBe(true);
      }
    }
  });
});

describe("deleting an application while it is asked to be deployed", () => {
  test("either cancels the deployment or refuses it", async () => {
    for (let round = 0; round < 10; round++) {
      const { uuid } = await applicationOn(at.where.server_uuid);
      const [deployed] = await Promise.allSettled([
        at.own.deploy({ uuid }),
        at.own.lifecycle.delete({ kind: "application", uuid }, {}),
      ]);
      const application = await at.stores.applications.find(uuid);
      const { items } = await at.stores.deployments.listByResource(application?.id ?? 0, {});
      if (deployed?.status === "fulfilled") expect(items).toMatchObject([{ status: "cancelled-by-user" }]);
      else {
        expect(items).toEqual([]);
        expect(deployed?.reason).toMatchObject({
          code: "resource.state",
          message: expect.stringContaining("is being removed"),
        });
      }
    }
  });
});

describe("the domains of a server", () => {
  test("are the hosts of what is on it, and the URLs of one application", async () => {
    const [server, other] = [await created(), await created()];
    const urls = "https://shop.servers.example/a,https://shop.servers.example/b,http://api.servers.example:3000";
    const { uuid } = await at.own.applications.createPublic(
      gitApplication(at, { server_uuid: server.uuid, domains: urls }),
    );
    await at.own.applications.createPublic(
      gitApplication(at, { server_uuid: other.uuid, domains: "https://else.servers.example" }),
    );
    expect(await at.own.servers.domains(server.uuid, undefined, {})).toEqual({
      items: [{ ip: server.ip, domains: ["api.servers.example", "shop.servers.example"] }],
      total: 1,
    });
    expect(await at.own.servers.domains(server.uuid, uuid, { skip: 1, take: 1 })).toEqual({
      items: ["https://shop.servers.example/b"],
      total: 3,
    });
    expect(await outcomes([at.own.servers.domains(other.uuid, uuid, {})])).toEqual(["Application not found."]);
    expect(await at.own.servers.domains((await created()).uuid, undefined, {})).toEqual({ items: [], total: 0 });
  });
});

describe("destinations", () => {
  test("are chosen by who creates, once there are several", async () => {
    const { uuid } = await created();
    const made = await at.own.destinations.create(uuid, { network: "other" });
    expect(made).toMatchObject({ name: "other", network: "other", server_uuid: uuid });
    const [refusal] = await outcomes([applicationOn(uuid)]);
    expect(refusal).toMatch(/multiple destinations.*destination_uuid/);
    const fields = { server_uuid: uuid, destination_uuid: made.uuid };
    const application = await at.own.applications.createPublic(gitApplication(at, fields));
    const { destination_id } = (await at.stores.applications.find(application.uuid)) ?? {};
    expect(destination_id).toBe((await at.stores.destinations.find(made.uuid))?.id);
    expect(await outcomes([at.own.destinations.delete(made.uuid)])).toEqual([
      expect.stringMatching(/^Destination has resources, so it is in use: Application .*Delete them first\.$/),
    ]);
  });

  test("have a network of their own on each server, and go when nothing is on them", async () => {
    const { uuid } = await created();
    const made = await at.own.destinations.create(uuid, { network: "n", name: "first", type: "standalone" });
    expect(await outcomes([at.own.destinations.create(uuid, { network: "n" })])).toEqual([
      "A destination with this network already exists on the server.",
    ]);
    await expect(at.own.destinations.create(uuid, { network: "s", type: "swarm" })).rejects.toMatchObject({
      fields: { type: [expect.any(String)] },
    });
    expect(await at.own.destinations.update(made.uuid, { name: "second" })).toMatchObject({ name: "second" });
    await at.own.destinations.delete(made.uuid);
    expect(await outcomes([at.own.destinations.get(made.uuid)])).toEqual(["Destination not found."]);
  });
});

describe("servers of one cluster", () => {
  const node = { managers: [{ nodeId: testUuid(), address: "10.0.0.1" }], managerCount: 1 };
  const manager = { ...node, nodeId: node.managers[0]?.nodeId ?? "", isManager: true, clusterId: testUuid() };
  const worker = { ...node, nodeId: testUuid(), isManager: false, clusterId: null };

  async function validated(uuid: string, found: Partial<ValidationResult>) {
    await at.own.servers.validate(uuid);
    const { id = 0 } = (await at.stores.servers.find(uuid)) ?? {};
    const claimed = await at.db.system.jobs.claim(["server.validate"], [id], { owner: "w", leaseSeconds: 60 });
    if (claimed === undefined) throw new Error("Its validation was not claimed.");
    const well = { is_reachable: true, is_usable: true, validation_logs: null };
    await at.db.system.servers.finishValidation(claimed.lease, id, { ...well, ...found });
    return id;
  }

  test("name the manager, which has destinations of the type swarm and gets the resources", async () => {
    const [head, other] = [await created({ name: "head" }), await created({ name: "node-2" })];
    const id = await validated(head.uuid, { swarm: manager });
    await validated(other.uuid, { swarm: worker });
    // While the manager is a single server, both are.
    await applicationOn(other.uuid);
    expect(await at.own.servers.get(head.uuid)).toMatchObject({ engine: "docker", swarm_cluster: id });
    await validated(head.uuid, { swarm: manager, engine: "swarm" });

    const [shown, shownNode] = [await at.own.servers.get(head.uuid), await at.own.servers.get(other.uuid)];
    expect(shown).toMatchObject({ engine: "swarm", swarm_cluster: id });
    expect(shown.settings).toMatchObject({ is_swarm_manager: true, is_swarm_worker: false });
    expect(shownNode).toMatchObject({ engine: "docker", swarm_cluster: id });
    expect(shownNode.settings).toMatchObject({ is_swarm_manager: false, is_swarm_worker: true });

    const { items } = await at.own.destinations.listOfServer(head.uuid, {});
    expect(items.map(({ type }) => type)).toEqual(["swarm"]);
    const wanted = (type: "swarm" | "standalone") => at.own.destinations.create(head.uuid, { network: type, type });
    expect(await wanted("swarm")).toMatchObject({ type: "swarm" });
    await expect(wanted("standalone")).rejects.toMatchObject({ fields: { type: [expect.stringContaining("swarm")] } });

    await expect(applicationOn(other.uuid)).rejects.toMatchObject({
      code: "request.invalid",
      fields: {
        server_uuid: [
          "Server node-2 is a node of the Docker Swarm of server head, which chooses the nodes of resources. Name server head.",
        ],
      },
    });
    await at.stores.servers.update(other.uuid, { settings: { is_cluster_ingress: true } });
    await expect(at.own.servers.update(other.uuid, { proxy_type: "none" })).rejects.toMatchObject({
      fields: { proxy_type: [expect.stringMatching(/^Server node-2 takes requests for its cluster.* --off$/)] },
    });
    const before = (await at.own.servers.get(head.uuid)).proxy_type;
    const another = before === "traefik" ? "caddy" : "traefik";
    await expect(at.own.servers.update(head.uuid, { proxy_type: another })).rejects.toMatchObject({
      fields: {
        proxy_type: [
          "The proxies of node-2 serve the certificates of server head, which only CADDY shares. First: berth cluster ingress node-2 --off",
        ],
      },
    });
    await at.stores.servers.update(other.uuid, { settings: { is_cluster_ingress: false } });
    await at.own.servers.update(head.uuid, { proxy_type: another });
    await at.own.servers.update(other.uuid, { proxy_type: "none" });

    const [destination] = items;
    const place = { server_uuid: head.uuid, destination_uuid: destination?.uuid };
    expect(await at.own.applications.createPublic(gitApplication(at, place))).toMatchObject({
      uuid: expect.any(String),
    });
  });
});
