import { isDomainError } from "@berth/core";
import type { ServiceCreate } from "@berth/core/service";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { BACKENDS, contents, printingEngine, testPlace, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

const COMPOSE = `
services:
  web:
    image: shop:1
    environment:
      - SERVICE_URL_WEB_3000
      - SECRET=$SERVICE_PASSWORD_64_WEB # signs sessions
      - MAIL=\${MAIL_HOST:?needed}
    volumes: [data:/data]
  api:
    image: api:1
    environment: { PUBLIC: "$SERVICE_URL_API", LEVEL: "\${LEVEL:-info}" }
  db:
    image: postgres:16
    volumes: [db:/var/lib/postgresql/data]
volumes: { data: , db: }
`;

const serviceAt = (at: Pick<World, "where">, fields: Partial<ServiceCreate> = {}): ServiceCreate => ({
  ...at.where,
  docker_compose: COMPOSE,
  ...fields,
});

/** Everything that belongs to a service, as seen by its owner. */
async function ownedBy(at: World, uuid: string) {
  const ref = { kind: "service", uuid } as const;
  const { items: envs } = await at.own.envs.list(ref, {});
  const { items: storages } = await at.own.storages.list(ref, {});
  const service = await at.own.services.get(uuid);
  return {
    service,
    values: Object.fromEntries(envs.map(({ key, value }) => [key, value])),
    envs,
    storages,
    fqdns: Object.fromEntries(service.applications.map(({ name, fqdn }) => [name, fqdn])),
  };
}

const refusal = async (work: Promise<unknown>) => {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!isDomainError(error)) throw new Error("It was not refused.");
  return error;
};

describe("a new service", () => {
  let at: World;
  beforeAll(async () => {
    at = await world();
  });
  afterAll(() => at.db.close());

  test("has the containers, URLs, variables and storages of its compose text", async () => {
    const { uuid, domains } = await at.own.services.create(serviceAt(at));
    const { service, values, envs, storages, fqdns } = await ownedBy(at, uuid);
    expect([...service.applications, ...service.databases].map(({ name }) => name)).toEqual(["web", "api", "db"]);
    const [web, api] = [`http://web-${uuid}.localhost`, `http://api-${uuid}.localhost`];
    expect(fqdns).toEqual({ web: `${web}:3000`, api });
    expect(domains).toEqual([api, `${web}:3000`]);
    expect(values).toMatchObject({
      SERVICE_URL_WEB: `${web}:8000`,
      SERVICE_URL_WEB_3000: `${web}:8000`,
      SERVICE_FQDN_WEB: `web-${uuid}.localhost:8000`,
      SERVICE_FQDN_WEB_3000: `web-${uuid}.localhost:8000`,
      SERVICE_URL_API: `${api}:8000`,
      SERVICE_FQDN_API: `api-${uuid}.localhost:8000`,
      SERVICE_PASSWORD_64_WEB: expect.stringMatching(/^[A-Za-z0-9]{64}$/),
      MAIL_HOST: "needed",
      LEVEL: "info",
    });
    const commentOf = (key: string) => envs.find((env) => env.key === key)?.comment;
    expect(commentOf("SERVICE_PASSWORD_64_WEB")).toBe("signs sessions");
    expect(envs.filter(({ is_required }) => is_required).map(({ key }) => key)).toEqual(["MAIL_HOST"]);
    expect(envs.some(({ is_preview }) => is_preview)).toBe(false);
    expect(storages).toMatchObject([
      { name: `${uuid}_data`, mount_path: "/data", resource_uuid: service.applications[0]?.uuid },
      { name: `${uuid}_db`, mount_path: "/var/lib/postgresql/data", resource_uuid: service.databases[0]?.uuid },
    ]);
  });

  test("has storages that only its definition changes, all but the suffix of previews", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const { storages } = await ownedBy(at, uuid);
    const ref = { kind: "service", uuid } as const;
    const storage = { uuid: storages[0]?.uuid ?? "" };
    const refused = await refusal(at.own.storages.update(ref, { ...storage, mount_path: "/other" }));
    expect(refused.details).toEqual({ read_only_fields: ["mount_path"] });
    await at.own.storages.update(ref, { ...storage, is_preview_suffix_enabled: false });
    await at.own.services.update(uuid, { docker_compose: COMPOSE });
    expect((await ownedBy(at, uuid)).storages[0]).toMatchObject({ ...storage, is_preview_suffix_enabled: false });
  });

  test("shows its compose text to those who may read secrets only", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const open = await at.own.services.get(uuid);
    expect(open.docker_compose_raw).toBe(COMPOSE);
    expect(open.docker_compose).toContain(`container_name: web-${uuid}`);
    const reader = at.as(at.place.server.team_id, "read");
    for (const shown of [await reader.services.get(uuid), ...(await reader.services.list({})).items]) {
      expect(shown).not.toHaveProperty("docker_compose_raw");
      expect(shown).not.toHaveProperty("docker_compose");
    }
    const rows = await at.db.database.kysely.selectFrom("service").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain("shop:1");
  });

  test("[S46] leaves nothing at all when one of its URLs is taken", async () => {
    const host = `${testUuid()}.example`;
    await at.own.applications.createPublic(gitApplication(at, { domains: `http://${host}` }));
    const before = await contents(at.db);
    const sent = serviceAt(at, { urls: [{ name: "api", url: `https://free.example,https://${host}` }] });
    const refused = await refusal(at.own.services.create({ ...sent, instant_deploy: false }));
    expect([refused.code, refused.details?.conflicts]).toMatchObject(["domain.conflict", [{ domain: host }]]);
    expect(await contents(at.db)).toEqual(before);
  });

  test("[S46] leaves nothing at all when its URL is the instance's, another team's or wrong", async () => {
    const host = `${testUuid()}.example`;
    const theirs = { ...at.otherTeam.where, docker_compose: COMPOSE, urls: [{ name: "web", url: `http://${host}` }] };
    await at.otherTeam.control.services.create(theirs);
    const before = await contents(at.db);
    for (const url of ["http://berth.example", `http://${host}/path`, "http://a b", "ftp://a.example"]) {
      const sent = serviceAt(at, { urls: [{ name: "web", url }], force_domain_override: true });
      expect(await refusal(at.own.services.create(sent))).toMatchObject({
        code: expect.stringMatching(/conflict|invalid/),
      });
    }
    expect(await contents(at.db)).toEqual(before);
  });

  test("is not made at all when it shall start where no service runs", async () => {
    const before = await contents(at.db);
    const refused = await refusal(at.own.services.create(serviceAt(at, { instant_deploy: true })));
    expect([refused.code, refused.fields?.server_uuid?.[0]]).toEqual([
      "engine.unsupported",
      expect.stringContaining("services run on servers with Docker only"),
    ]);
    expect(await contents(at.db)).toEqual(before);
  });

  test("needs exactly one of a compose text and a type", async () => {
    const sentence = ["Exactly one of docker_compose, docker_compose_raw, type is required."];
    const none = await refusal(at.own.services.create({ ...at.where }));
    expect(none.fields).toEqual({ docker_compose: sentence, docker_compose_raw: sentence, type: sentence });
    const two = await refusal(at.own.services.create(serviceAt(at, { type: "notes" })));
    expect(two.fields).toEqual({ docker_compose: sentence, type: sentence });
    const both = await refusal(at.own.services.create(serviceAt(at, { docker_compose_raw: COMPOSE })));
    expect(Object.keys(both.fields ?? {})).toEqual(["docker_compose", "docker_compose_raw"]);
  });

  test("[S39] is made of a template, with all that it needs, under its type", async () => {
    const { uuid } = await at.own.services.createOneClick({ ...at.where, type: "notes" });
    const { service, values, fqdns } = await ownedBy(at, uuid);
    expect(service).toMatchObject({ name: `notes-${uuid}`, service_type: "notes" });
    expect(fqdns).toEqual({ notes: `http://notes-${uuid}.localhost:3000` });
    expect(values).toMatchObject({ POSTGRES_DB: "notes", SERVICE_USER_DB: expect.stringMatching(/^[A-Za-z0-9]{16}$/) });
    const same = await at.own.services.create({ ...at.where, type: "notes", name: "Other" });
    expect((await at.own.services.get(same.uuid)).service_type).toBe("notes");
    const alias = await at.own.services.createOneClick({ ...at.where, type: "jotter" });
    expect(await at.own.services.get(alias.uuid)).toMatchObject({ service_type: "jotter" });
    expect((await ownedBy(at, alias.uuid)).fqdns).toEqual({ notes: `http://notes-${alias.uuid}.localhost:3000` });
  });

  test("of an unknown type is refused with the types there are, and the one that was probably meant", async () => {
    const refused = await refusal(at.own.services.createOneClick({ ...at.where, type: "note" }));
    expect([refused.code, refused.message, refused.details]).toEqual([
      "resource.not_found",
      "Invalid service type.",
      { valid_service_types: ["notes", "pages"], similar_service_types: ["notes"] },
    ]);
  });

  test("may have the name of another", async () => {
    const made = await Promise.all([1, 2].map(() => at.own.services.create(serviceAt(at, { name: "same" }))));
    expect(new Set(made.map(({ uuid }) => uuid)).size).toBe(2);
  });

  test("is its team's only", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const theirs = at.otherTeam.control.services;
    expect((await refusal(theirs.get(uuid))).message).toBe("Service not found.");
    expect((await refusal(theirs.update(uuid, { name: "mine" }))).message).toBe("Service not found.");
    expect((await refusal(theirs.create(serviceAt(at)))).message).toBe("Project not found.");
    expect((await at.otherTeam.control.services.list({})).items.map((one) => one.uuid)).not.toContain(uuid);
  });
});

describe("a changed service", () => {
  let at: World;
  beforeAll(async () => {
    at = await world();
  });
  afterAll(() => at.db.close());

  test("[S40] follows its new compose text, and keeps what is still there with its values", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const ref = { kind: "service", uuid } as const;
    await at.own.envs.update(ref, { key: "LEVEL", value: "debug" });
    await at.own.envs.create(ref, { key: "MINE", value: "1" });
    const before = await ownedBy(at, uuid);
    const next = `
services:
  web:
    image: shop:2
    environment: [SERVICE_URL_WEB_3000, "SECRET=$SERVICE_PASSWORD_64_WEB", "LEVEL=$LEVEL", "NEW=$SERVICE_USER_NEW"]
    volumes: [data:/data, more:/more]
  cache: { image: redis:7 }
volumes: { data: , more: }
`;
    expect(await at.own.services.update(uuid, { docker_compose_raw: next })).toEqual({
      uuid,
      domains: [`http://web-${uuid}.localhost:3000`],
    });
    const after = await ownedBy(at, uuid);
    expect(after.service.docker_compose_raw).toBe(next);
    const idOf = ({ service }: typeof before, name: string) =>
      service.applications.find((one) => one.name === name)?.uuid;
    expect(idOf(after, "web")).toBe(idOf(before, "web"));
    expect(after.service.applications.map(({ name, image }) => [name, image])).toEqual([["web", "shop:2"]]);
    expect(after.service.databases.map(({ name }) => name)).toEqual(["cache"]);
    expect(after.values).toMatchObject({
      LEVEL: "debug",
      MINE: "1",
      MAIL_HOST: "needed",
      SERVICE_PASSWORD_64_WEB: before.values.SERVICE_PASSWORD_64_WEB,
      SERVICE_USER_NEW: expect.any(String),
    });
    expect(after.values).not.toHaveProperty("SERVICE_URL_API");
    expect(after.storages).toMatchObject([{ uuid: before.storages[0]?.uuid }, { name: `${uuid}_more` }]);
    const domains = await at.db.database.kysely.selectFrom("domain").select("host").execute();
    expect(domains.map(({ host }) => host)).not.toContain(`api-${uuid}.localhost`);
  });

  test("follows a changed default where nobody has set another value", async () => {
    const fileWith = (own: string, mine: string) =>
      `services: { web: { image: "shop:1", environment: ["OWN=\${OWN:-${own}}", "MINE=\${MINE:-${mine}}"] } }`;
    const { uuid } = await at.own.services.create({ ...serviceAt(at), docker_compose: fileWith("1", "1") });
    await at.own.envs.update({ kind: "service", uuid }, { key: "MINE", value: "8" });
    const { changes } = await at.own.services.update(uuid, { docker_compose: fileWith("2", "2"), dry_run: true });
    expect(changes?.variables).toEqual([{ key: "OWN", change: "changed" }]);
    await at.own.services.update(uuid, { docker_compose: fileWith("2", "2") });
    expect((await ownedBy(at, uuid)).values).toMatchObject({ OWN: "2", MINE: "8" });
  });

  test("[S60] gets URLs for the containers that are named, and its variables tell them", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const host = `${testUuid()}.example`;
    const saved = await at.own.services.update(uuid, { urls: [{ name: "web", url: `https://${host}/shop` }] });
    expect(saved.domains).toEqual([`http://api-${uuid}.localhost`, `https://${host}/shop`]);
    const { fqdns, values } = await ownedBy(at, uuid);
    expect(fqdns).toMatchObject({ web: `https://${host}/shop`, api: `http://api-${uuid}.localhost` });
    expect(values).toMatchObject({
      SERVICE_URL_WEB: `https://${host}:8000/shop`,
      SERVICE_URL_WEB_3000: `https://${host}:8000/shop`,
      SERVICE_FQDN_WEB: `${host}:8000`,
    });
    await at.own.services.update(uuid, { urls: [{ name: "web", url: "" }] });
    expect((await ownedBy(at, uuid)).fqdns).toMatchObject({ web: null });
  });

  test("may move a URL from one of its containers to another in one request", async () => {
    const host = `${testUuid()}.example`;
    const { uuid } = await at.own.services.create(serviceAt(at, { urls: [{ name: "web", url: `http://${host}` }] }));
    const sibling = [{ name: "api", url: `http://${host}` }];
    const refused = await refusal(at.own.services.update(uuid, { urls: sibling }));
    expect(refused.details?.conflicts).toMatchObject([{ resource_uuid: uuid, service_name: "web" }]);
    await at.own.services.update(uuid, { urls: [...sibling, { name: "web", url: null }] });
    expect((await ownedBy(at, uuid)).fqdns).toEqual({ api: `http://${host}`, web: null });
  });

  test("[S47] takes URLs over when it is told to, and its answer says from whom", async () => {
    const host = `${testUuid()}.example`;
    const { uuid: application } = await at.own.applications.createPublic(
      gitApplication(at, { name: "Holder", domains: `http://${host},http://${host}/kept` }),
    );
    const other = await at.own.services.create(serviceAt(at, { urls: [{ name: "api", url: `http://${host}/api` }] }));
    const { uuid } = await at.own.services.create(serviceAt(at));
    const urls = [{ name: "web", url: `https://${host},https://${host}/api` }];
    const before = await contents(at.db);
    const { details } = await refusal(at.own.services.update(uuid, { urls, name: "changed" }));
    expect(details?.conflicts).toMatchObject([
      { domain: host, resource_type: "application", resource_uuid: application },
      { domain: `${host}/api`, resource_type: "service", resource_uuid: other.uuid, service_name: "api" },
    ]);
    expect(await contents(at.db)).toEqual(before);
    const forced = await at.own.services.update(uuid, { urls, force_domain_override: true });
    expect(forced.overridden).toEqual(details?.conflicts);
    expect((await ownedBy(at, uuid)).fqdns.web).toBe(`https://${host},https://${host}/api`);
    expect((await ownedBy(at, other.uuid)).fqdns.api).toBeNull();
    expect((await at.own.applications.get(application)).fqdn).toBe(`http://${host}/kept`);
  });

  test("tells a lost URL in none of its variables, whoever took it", async () => {
    const docker_compose = "services: {web: {image: a, environment: [SERVICE_URL_WEB_3000, SERVICE_URL_ADMIN]}}";
    const { uuid } = await at.own.services.create(serviceAt(at, { docker_compose }));
    const values = async () => {
      const { items } = await at.own.envs.list({ kind: "service", uuid }, {});
      return Object.fromEntries(items.map(({ key, value }) => [key, value]));
    };
    const before = await values();
    const taken = (before.SERVICE_URL_WEB ?? "").replace("http:", "https:");
    await at.own.applications.createPublic(gitApplication(at, { domains: taken, force_domain_override: true }));
    const kept = before.SERVICE_FQDN_ADMIN;
    const after = await values();
    expect(Object.values(after).filter((value) => value?.includes(before.SERVICE_FQDN_WEB ?? "?"))).toEqual([]);
    expect(after).toMatchObject({ SERVICE_URL_ADMIN: before.SERVICE_URL_ADMIN, SERVICE_FQDN_ADMIN: kept });
    expect(after.SERVICE_FQDN_WEB).toBe(kept);
    const told = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid).at(-1);
    expect([told?.type, told?.payload.keys]).toEqual([
      "resource.variables_changed",
      expect.arrayContaining(["SERVICE_URL_WEB", "SERVICE_FQDN_WEB"]),
    ]);
    const other = `https://${kept}`;
    await at.own.applications.createPublic(gitApplication(at, { domains: other, force_domain_override: true }));
    expect(new Set(Object.values(await values()))).toEqual(new Set([null]));
  });

  test("is not changed at all when one part of it cannot be", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const before = await contents(at.db);
    for (const change of [
      { name: "new", docker_compose: "services: {}" },
      { name: "new", docker_compose: "services: {a: {image: a}}", urls: [{ name: "web", url: "http://x.example" }] },
      { description: "new", urls: [{ name: "nope", url: "" }] },
      { description: "new", docker_compose: "services: {a: {image: a}}", instant_deploy: true },
      { docker_compose: COMPOSE, docker_compose_raw: COMPOSE },
    ]) {
      await refusal(at.own.services.update(uuid, change));
    }
    expect(await contents(at.db)).toEqual(before);
  });

  test("[S66] keeps its switches, which the compose text that is started follows", async () => {
    const labelled = "services: {web: {image: a, labels: {rule: $x}}}";
    const { uuid } = await at.own.services.create(serviceAt(at, { docker_compose: labelled }));
    expect((await at.own.services.get(uuid)).docker_compose).toContain("rule: $$x");
    await at.own.services.update(uuid, { is_container_label_escape_enabled: false, connect_to_docker_network: true });
    const service = await at.own.services.get(uuid);
    expect(service).toMatchObject({ is_container_label_escape_enabled: false, connect_to_docker_network: true });
    expect(service.docker_compose).toMatch(/rule: \$x[\s\S]*berth:\n\s+name: berth\n\s+external: true/);
  });

  test("tells what was changed, and no values", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    await at.own.services.update(uuid, { name: "new", docker_compose: COMPOSE });
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid);
    expect(events.map(({ type }) => type)).toEqual(["resource.created", "resource.updated"]);
    expect(events[1]?.payload).toMatchObject({ fields: ["docker_compose", "name"] });
    expect(JSON.stringify(events)).not.toContain("shop:1");
  });
});

describe("a service on an engine that runs services", () => {
  let at: World;
  beforeAll(async () => {
    const engine = printingEngine({ kinds: ["application", "service", "database"], privileged_mounts: true });
    at = await world({ engineFor: () => engine });
  });
  afterAll(() => at.db.close());
  const stateOf = async (uuid: string) => (await at.stores.services.find(uuid))?.desired_state;

  test("is started at once when it is asked for, at creation and at a change", async () => {
    const made = await at.own.services.create(serviceAt(at, { instant_deploy: true }));
    expect(await stateOf(made.uuid)).toBe("running");
    const { uuid } = await at.own.services.create(serviceAt(at));
    expect(await stateOf(uuid)).toBe("stopped");
    await at.own.services.update(uuid, { name: "now", instant_deploy: true });
    expect(await stateOf(uuid)).toBe("running");
  });

  test("gets privileges on this machine from those who manage it only", async () => {
    const powerful = { docker_compose: "services: {web: {image: a, volumes: [/:/host]}}" };
    const refused = await refusal(at.own.services.create(serviceAt(at, powerful)));
    expect(refused.code).toBe("auth.missing_ability");
    expect(refused.message).toMatch(
      /^Missing required permissions: root\. .*services\.web\.volumes: \/\. The operator/,
    );
    expect(refused.message).toContain("a token of the root team that has the ability root");
    const { uuid } = await at.own.services.create(serviceAt(at));
    expect((await refusal(at.own.services.update(uuid, powerful))).code).toBe("auth.missing_ability");
    // Owners of any team may hold `root`.
    const root = at.as(at.place.server.team_id, "root");
    expect((await refusal(root.services.update(uuid, powerful))).code).toBe("auth.root_team_only");
    const { project, environment, server } = await testPlace(at.db.stores(ROOT_TEAM_ID));
    const where = { project_uuid: project.uuid, environment_name: environment.name, server_uuid: server.uuid };
    const made = await at.as(ROOT_TEAM_ID, "root").services.create({ ...where, ...powerful });
    expect(made.domains).toEqual([]);
  });

  test("is deployed by its uuid, a container's or a tag, beside applications and databases: all or none", async () => {
    const service = await at.own.services.create(serviceAt(at, { name: "Shop" }));
    const database = await at.own.databases.create("redis", { ...at.where, name: "Cache" });
    const application = await at.own.applications.createPublic(gitApplication(at, { name: "Site" }));
    const { applications } = await at.own.services.get(service.uuid);
    const container = applications[0]?.uuid ?? "";
    const uuid = [database.uuid, "unknown", service.uuid, application.uuid, container].join();
    expect(await at.own.deploy({ uuid })).toEqual({
      deployments: [
        { message: "Database Cache started.", resource_uuid: database.uuid },
        { message: "Service Shop started. It could take a while, be patient.", resource_uuid: service.uuid },
        { message: "Application Site deployment queued.", resource_uuid: application.uuid },
      ].map((one) => ({ ...one, deployment_uuid: expect.any(String) })),
    });
    expect(await stateOf(service.uuid)).toBe("running");
    const previews = await at.own.deploy({ uuid: `${service.uuid},${database.uuid}`, pull_request_id: 7 });
    expect(previews.deployments?.map(({ message }) => message)).toEqual([
      "Service Shop has no previews of pull requests.",
      "Database Cache has no previews of pull requests.",
    ]);
    for (const ref of [
      { kind: "service", uuid: service.uuid },
      { kind: "database", uuid: database.uuid },
    ] as const) {
      await at.own.tags.attach(ref, { tag_name: "blue" });
    }
    expect(await at.own.deploy({ tag: "blue" })).toEqual({
      message: ["Service Shop started. It could take a while, be patient."],
      details: [{ resource_uuid: service.uuid, deployment_uuid: expect.any(String) }],
    });
  });
});

test("deploying a service where none runs is refused, and nothing else of the list is deployed", async () => {
  const at = await world();
  try {
    const service = await at.own.services.create(serviceAt(at));
    const application = await at.own.applications.createPublic(gitApplication(at));
    const before = await contents(at.db);
    const refused = await refusal(at.own.deploy({ uuid: `${application.uuid},${service.uuid}` }));
    expect(refused.code).toBe("engine.unsupported");
    expect(await contents(at.db)).toEqual(before);
  } finally {
    await at.db.close();
  }
});

describe.each(BACKENDS)("services made and changed at once on %s", (backend) => {
  let at: World;
  beforeAll(async () => {
    at = await world({ backend });
  });
  afterAll(() => at.db.close());

  test("give a URL that all claim to exactly one, and leave nothing of the others", async () => {
    const urls = [{ name: "web", url: "https://raced.example" }];
    const results = await outcomes(Array.from({ length: 8 }, () => at.own.services.create(serviceAt(at, { urls }))));
    expect(results.filter((result) => result === "done")).toHaveLength(1);
    expect(results.filter((result) => /Domain conflicts|claimed by another/.test(result))).toHaveLength(7);
    expect((await at.own.services.list({})).total).toBe(1);
    const { kysely } = at.db.database;
    for (const table of ["service_container", "domain", "env", "storage"] as const) {
      const owners = await kysely.selectFrom(table).select("resource_id").distinct().execute();
      expect(owners, table).toHaveLength(1);
    }
  });

  test("and moved by force from one to another, it has exactly one holder at the end", async () => {
    const made = await Promise.all(Array.from({ length: 4 }, () => at.own.services.create(serviceAt(at))));
    const urls = [{ name: "web", url: "https://moved.example" }];
    const moves = made.map(({ uuid }) => at.own.services.update(uuid, { urls, force_domain_override: true }));
    expect(await outcomes(moves)).toEqual(["done", "done", "done", "done"]);
    const fqdns = await Promise.all(made.map(async ({ uuid }) => (await ownedBy(at, uuid)).fqdns.web));
    expect(fqdns.filter((fqdn) => fqdn === "https://moved.example")).toHaveLength(1);
    expect(fqdns.filter((fqdn) => fqdn === null)).toHaveLength(3);
  });

  test("change one after the other: its containers and variables are those of one text", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const textOf = (n: number) => `services: {c${n}: {image: a, environment: {A: "$SERVICE_USER_N${n}"}}}`;
    const changes = Array.from({ length: 6 }, (_, n) => at.own.services.update(uuid, { docker_compose: textOf(n) }));
    expect(new Set(await outcomes(changes))).toEqual(new Set(["done"]));
    const { service, values } = await ownedBy(at, uuid);
    const [last] = service.applications;
    expect(service.applications).toHaveLength(1);
    const made = Object.keys(values).filter((key) => key.startsWith("SERVICE_"));
    expect(made).toEqual([`SERVICE_USER_N${last?.name.slice(1)}`]);
    expect(service.docker_compose_raw).toBe(textOf(Number(last?.name.slice(1))));
  });
});

describe("the templates there are", () => {
  let at: World;
  beforeAll(async () => {
    at = await world();
  });
  afterAll(() => at.db.close());

  test("are told in pages, without their compose texts, and found by words and by tags", async () => {
    const all = await at.own.services.templates({});
    expect(all).toMatchObject({
      total: 2,
      items: [
        { type: "notes", port: 3000, category: "documents", tags: ["notes", "text"] },
        { type: "pages", category: null },
      ],
    });
    expect(all.items[0]).not.toHaveProperty("compose");
    const typesOf = async (filter: object) => (await at.own.services.templates(filter)).items.map(({ type }) => type);
    expect(await typesOf({ skip: 1, take: 1 })).toEqual(["pages"]);
    expect(await typesOf({ search: "KEEPS  text" })).toEqual(["notes"]);
    expect(await typesOf({ search: "keeps pages" })).toEqual([]);
    expect(await typesOf({ category: "documents" })).toEqual(["notes"]);
    expect(await typesOf({ category: "DOCUMENTS", tags: "web" })).toEqual([]);
    expect(await typesOf({ category: "document" })).toEqual([]);
    expect(await typesOf({ tags: "text,notes" })).toEqual(["notes"]);
    expect(await typesOf({ tags: "text,web" })).toEqual([]);
  });
});

describe("a change that is only rehearsed", () => {
  let at: World;
  beforeAll(async () => {
    at = await world();
  });
  afterAll(() => at.db.close());

  test("says that a network or a config that is defined anew replaces the containers that use it", async () => {
    const text = (internal: boolean, content: string, more = "") => `
services:
  web: { image: "shop:1", networks: [back], command: a }
  api: { image: "shop:1", configs: [{ source: main }], network_mode: none, command: b }
  worker: { image: "shop:1", command: c }
networks: { back: { internal: ${internal} } ${more} }
configs: { main: { content: ${content} } }
`;
    const { docker_compose: _, ...rest } = serviceAt(at);
    const { uuid } = await at.own.services.create({ ...rest, docker_compose: text(false, "one") });
    const changesOf = async (docker_compose: string) => {
      const { changes } = await at.own.services.update(uuid, { docker_compose, dry_run: true });
      const moved = changes?.replacement.containers.filter(({ action }) => action !== "kept").map(({ name }) => name);
      return [changes?.needs_deployment, moved];
    };
    expect(await changesOf(text(true, "one"))).toEqual([true, ["web"]]);
    expect(await changesOf(text(false, "two"))).toEqual([true, ["api"]]);
    // A container without networks is in the default one.
    expect(await changesOf(text(false, "one", ", default: { internal: true }"))).toEqual([true, ["worker"]]);
    expect((await changesOf(text(false, "one")))[0]).toBe(false);
  });

  test("says which variables must have a value before it can be deployed", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const docker_compose =
      'services: { web: { image: "shop:2", environment: ["A=smtp://${A:?of the mail server}", "B=${B:?}"] } }';
    const warningsOf = async () =>
      (await at.own.services.update(uuid, { docker_compose, dry_run: true })).changes?.warnings;
    expect(await warningsOf()).toEqual([
      "The variables A (of the mail server), B must have a value, which the compose file demands. Set them, then deploy again.",
    ]);
    await at.own.envs.create({ kind: "service", uuid }, { key: "A", value: "1" });
    await at.own.envs.create({ kind: "service", uuid }, { key: "B", value: "1" });
    expect(await warningsOf()).toEqual([]);
    await at.own.services.update(uuid, { docker_compose });
    const renamed = await at.own.services.update(uuid, { name: "renamed", dry_run: true });
    expect(renamed.changes?.warnings).toEqual([]);
  });

  test("says what would change, and changes nothing", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const text = `
services:
  web:
    image: shop:2
    environment: ["SERVICE_URL_WEB_3000", "NEW=\${NEW:-1}"]
    volumes: [data:/data, more:/more]
  worker: { image: worker:1 }
volumes: { data: , more: }
`;
    const before = await contents(at.db);
    const { changes, domains } = await at.own.services.update(uuid, { docker_compose: text, dry_run: true });
    expect(await contents(at.db)).toEqual(before);
    expect(domains).toEqual([`http://web-${uuid}.localhost:3000`]);
    expect(changes).toEqual({
      containers: [
        { name: "web", change: "changed", fields: ["environment", "image", "volumes"] },
        { name: "worker", change: "added", fields: [] },
        { name: "api", change: "removed", fields: [] },
        { name: "db", change: "removed", fields: [] },
      ],
      variables: expect.arrayContaining([
        { key: "NEW", change: "added" },
        { key: "SERVICE_PASSWORD_64_WEB", change: "removed" },
      ]),
      storages: [
        { container: "web", mount_path: "/more", change: "added" },
        { container: "db", mount_path: "/var/lib/postgresql/data", change: "removed" },
      ],
      urls: [{ container: "api", before: [`http://api-${uuid}.localhost`], after: [] }],
      replacement: {
        mode: "stop_first",
        reason: expect.stringContaining("it has volumes"),
        containers: [
          { name: "web", action: "stop_first", reason: expect.stringContaining("it has volumes") },
          { name: "worker", action: "added", reason: "It is a new container." },
          { name: "api", action: "removed", reason: "Removed from the compose file." },
          { name: "db", action: "removed", reason: "Removed from the compose file." },
        ],
      },
      warnings: [],
      needs_deployment: true,
    });
    const done = await at.own.services.update(uuid, { docker_compose: text });
    expect(done).toEqual({ uuid, domains });
  });

  test("of URLs alone needs no deployment, and is refused like the change itself", async () => {
    const { uuid } = await at.own.services.create(serviceAt(at));
    const [free, taken] = [`http://${testUuid()}.example`, `http://${testUuid()}.example`];
    const rehearsed = await at.own.services.update(uuid, { urls: [{ name: "api", url: free }], dry_run: true });
    expect(rehearsed.changes).toMatchObject({
      containers: [],
      urls: [{ container: "api", before: [`http://api-${uuid}.localhost`], after: [free] }],
    });
    await at.own.applications.createPublic(gitApplication(at, { domains: taken }));
    const refused = at.own.services.update(uuid, { urls: [{ name: "api", url: taken }], dry_run: true });
    expect((await refusal(refused)).code).toBe("domain.conflict");
    expect((await at.own.services.update(uuid, { name: "other", dry_run: true })).changes?.needs_deployment).toBe(
      false,
    );
    expect((await at.own.services.get(uuid)).name).not.toBe("other");
  });
});
