import { testTemplates } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPOSE, createdApplication, createdDatabase, createdService, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const create = (fields: object) => api.ask("POST", "/services", { body: { ...api.where, ...fields } });

describe("POST /services", () => {
  test("[S40] creates a compose service, from plain text and from base64, under either name of the field", async () => {
    const base64 = Buffer.from(COMPOSE).toString("base64");
    for (const fields of [{ docker_compose: COMPOSE }, { docker_compose: base64 }, { docker_compose_raw: base64 }]) {
      const made = await create(fields);
      expect([made.status, made.json]).toEqual([201, { uuid: expect.any(String), domains: [] }]);
      const { json } = await api.ask("GET", `/services/${made.json.uuid}`);
      expect(json).toMatchObject({
        uuid: made.json.uuid,
        name: `service-${made.json.uuid.slice(0, 10)}`,
        status: "exited",
        service_type: null,
        docker_compose_raw: COMPOSE,
        is_container_label_escape_enabled: true,
        connect_to_docker_network: false,
        applications: [{ name: "web", image: "nginx:1.27", fqdn: null, status: "exited" }],
        databases: [{ name: "db", image: "postgres:16", status: "exited" }],
      });
    }
  });

  test("answers the types that clients of this API family expect", async () => {
    const { json } = await api.ask("GET", `/services/${await createdService(api, { description: "d" })}`);
    expect(json).toMatchObject({
      description: "d",
      environment_id: expect.any(Number),
      server_id: expect.any(Number),
      destination_id: expect.any(Number),
      destination_type: "standalone",
      compose_parsing_version: "5",
      config_hash: null,
      server_status: true,
      deleted_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
    expect(json.applications[0]).toMatchObject({
      id: expect.any(Number),
      service_id: expect.any(Number),
      exclude_from_status: false,
      required_fqdn: false,
      last_online_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
    expect(json.databases[0]).toMatchObject({ is_public: false, public_port: null, custom_type: null });
  });

  test("[S69] says what is wrong with the compose text, at the field that was sent", async () => {
    for (const [text, sentence] of [
      ["services: {}", "Needs a map named services with at least one container."],
      ["services:\n  web: [", expect.stringMatching(/^Not valid YAML at line 2/)],
      ["services: {'a b': {image: x}}", expect.stringContaining("A service's name may have only")],
      ["services: {a: {image: x, volumes: ['$(id):/a']}}", expect.stringContaining("not allowed")],
      [Buffer.from([0xff, 0xfe, 0xfd]).toString("base64"), "Must be plain text, or base64 of UTF-8 text."],
    ] as const) {
      const { status, json } = await create({ docker_compose_raw: text });
      expect([status, json.message, json.errors]).toEqual([
        422,
        "Validation failed.",
        { docker_compose_raw: [sentence] },
      ]);
    }
    const unknown = await create({ docker_compose: COMPOSE, domains: [], urls: [{ name: "web", domain: "x" }] });
    expect(unknown.json.errors).toEqual({
      domains: ["This field is not allowed."],
      "urls.0.domain": ["This field is not allowed."],
    });
  });

  test("[S46] answers 409 with who holds a URL, and leaves no service", async () => {
    const holder = await createdService(api, { name: "Shop", urls: [{ name: "web", url: "https://held.example/a" }] });
    const before = (await api.ask("GET", "/services")).json.length;
    const body = { docker_compose: COMPOSE, urls: [{ name: "web", url: "http://held.example:3000/a/" }] };
    const { status, json } = await create(body);
    expect([status, json]).toEqual([
      409,
      {
        message: "Domain conflicts detected. Use force_domain_override=true to proceed.",
        warning: expect.any(String),
        conflicts: [
          {
            domain: "held.example/a",
            resource_name: "Shop",
            resource_uuid: holder,
            resource_type: "service",
            service_name: "web",
            message: "Domain held.example/a is already in use by service 'Shop'.",
          },
        ],
        code: "domain.conflict",
        request_id: expect.any(String),
      },
    ]);
    expect((await api.ask("GET", "/services")).json).toHaveLength(before);
    const application = { domains: "http://held.example/a", ...api.where };
    const git = { git_repository: "https://git.example/a/b.git", git_branch: "main", build_pack: "static" };
    const other = await api.ask("POST", "/applications/public", { body: { ...application, ...git } });
    expect([other.status, other.json.conflicts[0].service_name]).toEqual([409, "web"]);
    const forced = await create({ ...body, force_domain_override: true });
    expect([forced.status, forced.json.overridden]).toEqual([201, json.conflicts]);
    const { json: former } = await api.ask("GET", `/services/${holder}`);
    expect(former.applications[0].fqdn).toBeNull();
  });

  test("[S46] answers 422 for URLs that are wrong, with a text for each", async () => {
    const urls = [
      { name: "web", url: "gopher://a.example" },
      { name: "db", url: "http://a.example" },
      { name: "none", url: "http://b.example" },
    ];
    const { status, json } = await create({ docker_compose: COMPOSE, urls });
    expect([status, json.errors]).toEqual([
      422,
      {
        urls: [
          "Invalid URL scheme: gopher for URL: gopher://a.example. Only http and https are supported.",
          "The container db is a database, which has no URLs.",
          "Service container with 'none' not found.",
        ],
      },
    ]);
  });

  test("with instant_deploy answers 422 where no service runs, and creates nothing", async () => {
    const before = (await api.ask("GET", "/services")).json.length;
    const { status, json } = await create({ docker_compose: COMPOSE, instant_deploy: true });
    expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    expect((await api.ask("GET", "/services")).json).toHaveLength(before);
  });

  test("shows the URLs of its containers as they are reached", async () => {
    const uuid = await createdService(api, { urls: [{ name: "web", url: "http://reached.example" }] });
    const { json } = await api.ask("GET", `/services/${uuid}`);
    expect(json.applications[0].urls).toEqual(["http://reached.example:8000"]);
  });
});

describe("one-click services", () => {
  test("[S39] are created by their type", async () => {
    const body = {
      ...api.where,
      type: "notes",
      name: "Notes",
      urls: [{ name: "notes", url: "https://notes.example" }],
    };
    const { status, json } = await api.ask("POST", "/services/one-click", { body });
    expect([status, json]).toEqual([201, { uuid: expect.any(String), domains: ["https://notes.example"] }]);
    const { json: service } = await api.ask("GET", `/services/${json.uuid}`);
    expect(service).toMatchObject({ service_type: "notes", name: "Notes" });
    const { json: envs } = await api.ask("GET", `/services/${json.uuid}/envs`);
    const url = envs.find(({ key }: { key: string }) => key === "SERVICE_URL_NOTES");
    expect(url).toMatchObject({ value: "https://notes.example:8000", is_coolify: true });
  });

  test("of an unknown type are answered with 404 and the types there are", async () => {
    for (const path of ["/services", "/services/one-click"]) {
      const { status, json } = await api.ask("POST", path, { body: { ...api.where, type: "nots" } });
      expect([status, json]).toEqual([
        404,
        {
          message: "Invalid service type.",
          valid_service_types: ["notes", "pages"],
          similar_service_types: ["notes"],
          code: "resource.not_found",
          request_id: expect.any(String),
        },
      ]);
    }
    const body = { ...api.where, docker_compose: COMPOSE };
    const { json } = await api.ask("POST", "/services/one-click", { body });
    expect(json.errors).toEqual({ type: ["This field is required."], docker_compose: ["This field is not allowed."] });
  });

  test("are listed with what they are", async () => {
    const { status, json, headers } = await api.ask("GET", "/services/templates?search=keeps&take=1");
    const [{ text: _, ...notes } = {}] = testTemplates;
    expect([status, json, headers["x-total-count"]]).toEqual([200, [notes], "1"]);
    expect((await api.ask("GET", "/services/templates?tags=web")).json).toMatchObject([{ type: "pages" }]);
  });
});

describe("PATCH /services/{uuid}", () => {
  test("[S60] changes what is sent and answers the URLs", async () => {
    const uuid = await createdService(api, { name: "before" });
    const body = {
      name: null,
      description: "",
      connect_to_docker_network: "1",
      urls: [{ name: "web", url: "http://u.example" }],
    };
    const { status, json } = await api.ask("PATCH", `/services/${uuid}`, { body });
    expect([status, json]).toEqual([200, { uuid, domains: ["http://u.example"] }]);
    expect((await api.ask("GET", `/services/${uuid}`)).json).toMatchObject({
      name: "before",
      description: null,
      connect_to_docker_network: true,
      docker_compose_raw: COMPOSE,
    });
  });

  test("[S47] takes a URL over from another when it is told to", async () => {
    const holder = await createdApplication(api, { name: "Holder", domains: "https://wanted.example" });
    const uuid = await createdService(api);
    const urls = [{ name: "web", url: "https://wanted.example" }];
    expect((await api.ask("PATCH", `/services/${uuid}`, { body: { urls } })).status).toBe(409);
    const body = { urls, force_domain_override: true };
    const { status, json } = await api.ask("PATCH", `/services/${uuid}`, { body });
    expect([status, json.domains, json.overridden]).toMatchObject([
      200,
      ["https://wanted.example"],
      [{ resource_uuid: holder, resource_type: "application" }],
    ]);
    expect((await api.ask("GET", `/applications/${holder}`)).json.fqdn).toBeNull();
  });

  test("refuses what cannot be changed", async () => {
    const uuid = await createdService(api);
    for (const body of [{ type: "notes" }, { server_uuid: "x" }, { uuid: "other" }, { status: "running" }]) {
      const { status, json } = await api.ask("PATCH", `/services/${uuid}`, { body });
      expect([status, Object.keys(json.errors)]).toEqual([422, Object.keys(body)]);
    }
  });
});

describe("a service", () => {
  test("[S13] has variables of the same shape as an application's and a database's", async () => {
    const owners = [
      `/services/${await createdService(api)}`,
      `/applications/${await createdApplication(api)}`,
      `/databases/${await createdDatabase(api)}`,
    ];
    const shapes = [];
    for (const owner of owners) {
      await api.ask("POST", `${owner}/envs`, { body: { key: "KEY", value: "v", comment: "c" } });
      const { json } = await api.ask("GET", `${owner}/envs`);
      const env = json.find(({ key }: { key: string }) => key === "KEY");
      shapes.push(Object.entries(env).map(([key, value]) => [key, typeof value]));
    }
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[2]).toEqual(shapes[0]);
  });

  test("is listed in its environment, and among all resources, without what is secret", async () => {
    const uuid = await createdService(api);
    const reader = await api.tokenWith("read");
    const environment = `/projects/${api.where.project_uuid}/production`;
    const { json } = await api.ask("GET", environment);
    expect(json.services.find((one: { uuid: string }) => one.uuid === uuid)).toMatchObject({
      docker_compose_raw: COMPOSE,
      applications: [{ name: "web" }],
    });
    for (const path of [environment, "/services", "/resources", `/services/${uuid}`]) {
      const { text } = await api.ask("GET", path, { token: reader });
      expect(text).toContain(uuid);
      expect(text.includes('"docker_compose_raw":') || text.includes('"docker_compose":')).toBe(false);
    }
  });

  test("is answered a page at a time", async () => {
    const all = (await api.ask("GET", "/services")).json;
    const page = await api.ask("GET", "/services?skip=1&take=2");
    expect(page.json.map((one: { uuid: string }) => one.uuid)).toEqual(
      all.slice(1, 3).map((one: { uuid: string }) => one.uuid),
    );
    expect(page.headers["x-total-count"]).toBe(String(all.length));
    expect(page.headers.link).toContain('rel="next"');
  });

  test("that is deleted reads as removing until it is gone, with all that it had", async () => {
    const uuid = await createdService(api, {
      docker_compose: "services: {web: {image: a, environment: [SERVICE_URL_WEB]}}",
    });
    const { status, json } = await api.ask("DELETE", `/services/${uuid}?delete_volumes=false`);
    expect([status, json.message]).toEqual([200, "Service deletion request queued."]);
    expect((await api.ask("GET", `/services/${uuid}`)).json.status).toBe("removing:unhealthy");
    const { id = 0 } = (await api.stores.services.find(uuid)) ?? {};
    await api.db.system.resources.delete(id);
    expect((await api.ask("GET", `/services/${uuid}`)).json.message).toBe("Service not found.");
    const { kysely } = api.db.database;
    for (const table of ["service", "service_container", "domain", "env", "storage"] as const) {
      expect(await kysely.selectFrom(table).select("resource_id").where("resource_id", "=", id).execute()).toEqual([]);
    }
  });

  test("cannot be started where no service runs, and says so", async () => {
    const uuid = await createdService(api);
    for (const path of [`/services/${uuid}/start`, `/services/${uuid}/restart?latest=1`, `/deploy?uuid=${uuid}`]) {
      const { status, json } = await api.ask("POST", path);
      expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    }
  });
});

describe("GET /services/{uuid}/logs", () => {
  test("is refused for a container that it has not, and while it does not run", async () => {
    const uuid = await createdService(api);
    const logs = (query: string) => api.ask("GET", `/services/${uuid}/logs${query}`);
    for (const name of ["container", "sub_service_name"]) {
      const unknown = await logs(`?${name}=other`);
      const stopped = await logs(`?${name}=web&lines=5&show_timestamps=1`);
      expect([unknown.status, unknown.json.message]).toEqual([
        404,
        expect.stringMatching(/^Service .+ has no container other\. It has web/),
      ]);
      expect([stopped.status, stopped.json.message]).toEqual([400, "Service is not running."]);
    }
  });
});

describe("PATCH /services/{uuid} with dry_run", () => {
  test("answers what would change, and changes nothing", async () => {
    const uuid = await createdService(api);
    const body = { docker_compose: "services: { web: { image: nginx:2 } }", dry_run: true };
    const { status, json } = await api.ask("PATCH", `/services/${uuid}`, { body });
    expect([status, json.changes.replacement.mode]).toEqual([200, "candidate_first"]);
    expect(json.changes.containers).toContainEqual({ name: "db", change: "removed", fields: [] });
    expect((await api.ask("GET", `/services/${uuid}`)).json.docker_compose_raw).toBe(COMPOSE);
  });
});
