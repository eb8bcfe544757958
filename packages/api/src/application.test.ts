import { testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, gitApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

describe("POST /applications/public", () => {
  test("[S05] answers uuid and fqdn, and no application ever has an attribute named domains", async () => {
    const body = gitApplication(api, { domains: "https://shop.example/", instant_deploy: true });
    const { status, json } = await api.ask("POST", "/applications/public", { body });
    expect([status, Object.keys(json).sort()]).toEqual([201, ["deployment_uuid", "fqdn", "uuid"]]);
    expect(json.fqdn).toBe("https://shop.example/");
    const one = await api.ask("GET", `/applications/${json.uuid}`);
    const all = await api.ask("GET", "/applications");
    const resources = await api.ask("GET", "/resources");
    for (const application of [one.json, ...all.json, ...resources.json]) {
      expect(application).not.toHaveProperty("domains");
      expect(application).toHaveProperty("fqdn");
    }
  });

  test("[S06] keeps static_image, and what else is sent, with the types that clients expect", async () => {
    const uuid = await createdApplication(api, {
      static_image: "nginx:alpine",
      ports_exposes: "3000",
      health_check_port: 3000,
      health_check_retries: "7",
      limits_memory: "512m",
      is_static: "1",
      is_log_drain_enabled: true,
      type: "public",
    });
    const { json } = await api.ask("GET", `/applications/${uuid}`);
    expect(json).toMatchObject({
      static_image: "nginx:alpine",
      ports_exposes: "3000",
      health_check_port: "3000",
      health_check_retries: 7,
      limits_memory: "512m",
      limits_memory_swappiness: 60,
      settings: { is_static: true, is_log_drain_enabled: true },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      last_online_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
  });

  test("gives containers lasting names, each once on a server", async () => {
    const named = { is_consistent_container_name_enabled: "1", custom_internal_name: "shop" };
    const uuid = await createdApplication(api, named);
    const settings = { is_consistent_container_name_enabled: true, custom_internal_name: "shop" };
    expect((await api.ask("GET", `/applications/${uuid}`)).json).toMatchObject({ settings });
    const again = await api.ask("POST", "/applications/public", { body: gitApplication(api, named) });
    expect([again.status, again.json.code, Object.keys(again.json.errors)]).toEqual([
      409,
      "resource.already_exists",
      ["custom_internal_name"],
    ]);
    const other = await createdApplication(api, { custom_internal_name: "shop" });
    const change = { body: { is_consistent_container_name_enabled: true } };
    expect((await api.ask("PATCH", `/applications/${other}`, change)).status).toBe(409);
    const wrong = await api.ask("PATCH", `/applications/${other}`, { body: { custom_internal_name: "-shop" } });
    expect([wrong.status, Object.keys(wrong.json.errors)]).toEqual([422, ["custom_internal_name"]]);
  });

  test("[S08] keeps a health check that runs a command", async () => {
    const check = { health_check_enabled: true, health_check_type: "cmd", health_check_command: "test -f /tmp/ok" };
    const uuid = await createdApplication(api, check);
    expect((await api.ask("GET", `/applications/${uuid}`)).json).toMatchObject(check);
  });

  test("[S44] [S69] says which fields are wrong, unknown ones included", async () => {
    const body = { git_repository: 7, build_pack: "magic", fqdn: "http://x.example", server_uuid: "s", git_branch: "" };
    const { status, json } = await api.ask("POST", "/applications/public", { body });
    expect([status, json.message, json.code]).toEqual([422, "Validation failed.", "request.invalid"]);
    expect(json.errors).toEqual({
      project_uuid: ["This field is required."],
      git_repository: ["Must be a text."],
      git_branch: ["This field is required."],
      build_pack: ["Must be one of: nixpacks, railpack, static, dockerfile, dockercompose."],
      fqdn: ["This field is not allowed."],
    });
    const { environment_name: _, ...nowhere } = gitApplication(api);
    const refused = await api.ask("POST", "/applications/public", { body: nowhere });
    expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ["environment_name", "environment_uuid"]]);
  });

  test("answers 404 for a project, an environment or a server that is not the team's", async () => {
    const { project_uuid, server_uuid } = api.otherTeam.where;
    for (const [fields, message] of [
      [{ project_uuid }, "Project not found."],
      [{ server_uuid }, "Server not found."],
      [{ environment_name: "staging" }, "Environment not found."],
    ] as const) {
      const { status, json } = await api.ask("POST", "/applications/public", { body: gitApplication(api, fields) });
      expect([status, json.message, json.docs]).toEqual([404, message, undefined]);
    }
  });

  test("[S45] answers 409 with who holds a URL, until it is overridden", async () => {
    const holder = await createdApplication(api, { name: "Holder", domains: "https://held.example" });
    const body = gitApplication(api, { name: "Taker", domains: "http://held.example:3000/" });
    const { status, json } = await api.ask("POST", "/applications/public", { body });
    expect(status).toBe(409);
    expect(json).toEqual({
      message: "Domain conflicts detected. Use force_domain_override=true to proceed.",
      warning: expect.any(String),
      conflicts: [
        {
          domain: "held.example",
          resource_name: "Holder",
          resource_uuid: holder,
          resource_type: "application",
          message: "Domain held.example is already in use by application 'Holder'.",
        },
      ],
      code: "domain.conflict",
      request_id: expect.any(String),
    });
    const forced = await api.ask("POST", "/applications/public", { body: { ...body, force_domain_override: true } });
    expect([forced.status, forced.json.overridden[0].resource_uuid]).toEqual([201, holder]);
    expect((await api.ask("GET", `/applications/${holder}`)).json.fqdn).toBeNull();
  });

  test("creates exactly one of two with one domain at the same time", async () => {
    const body = gitApplication(api, { domains: "https://raced.example" });
    const asked = Array.from({ length: 8 }, () => api.ask("POST", "/applications/public", { body }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array(7).fill(409)]);
    const { json } = await api.ask("GET", "/applications");
    expect(json.filter(({ fqdn }: { fqdn: string }) => fqdn === "https://raced.example")).toHaveLength(1);
  });
});

describe("POST /applications/dockerfile", () => {
  test("answers 422 with what this server can build instead", async () => {
    const body = { ...api.where, dockerfile: Buffer.from("FROM scratch").toString("base64") };
    const { status, json } = await api.ask("POST", "/applications/dockerfile", { body });
    expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    expect(json.errors.build_pack[0]).toMatch(/nixpacks, railpack, static/);
    expect((await api.ask("POST", "/applications/dockerfile", { body: api.where })).json.errors).toEqual({
      dockerfile: ["This field is required."],
    });
  });

  test("creates where the engine has Docker, from plain text and from base64", async () => {
    Object.assign(api.engine.capabilities, { build_packs: ["dockerfile"] });
    for (const dockerfile of ["FROM scratch\n", Buffer.from("FROM scratch\n").toString("base64")]) {
      const made = await api.ask("POST", "/applications/dockerfile", { body: { ...api.where, dockerfile } });
      expect(made.status).toBe(201);
      const { json } = await api.ask("GET", `/applications/${made.json.uuid}`);
      expect(json).toMatchObject({ dockerfile: "FROM scratch\n", build_pack: "dockerfile", ports_exposes: "80" });
    }
    Object.assign(api.engine.capabilities, { build_packs: ["nixpacks", "railpack", "static"] });
  });
});

describe("POST /applications/dockerimage", () => {
  const image = (fields: object) => ({ body: { ...api.where, ...fields } });

  test("creates nothing where the engine has no Docker, and says what it can build", async () => {
    const before = (await api.ask("GET", "/applications")).json.length;
    const asked = image({ docker_registry_image_name: "nginx", instant_deploy: true });
    const { status, json } = await api.ask("POST", "/applications/dockerimage", asked);
    expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    expect(json.errors.build_pack[0]).toMatch(/dockerimage.*nixpacks, railpack, static/);
    expect((await api.ask("GET", "/applications")).json).toHaveLength(before);
  });

  test("[S05] answers its URLs and keeps the image in its one form", async () => {
    Object.assign(api.engine.capabilities, { build_packs: ["dockerimage"] });
    const digest = "c".repeat(64);
    for (const [fields, name, tag] of [
      [{ docker_registry_image_name: "nginx" }, "nginx", "latest"],
      [{ docker_registry_image_name: "ghcr.io/me/app:v1", docker_registry_image_tag: "" }, "ghcr.io/me/app", "v1"],
      [{ docker_registry_image_name: `nginx@sha256:${digest}` }, "nginx@sha256", digest],
    ] as const) {
      const { status, json } = await api.ask("POST", "/applications/dockerimage", image(fields));
      expect([status, json]).toEqual([201, { uuid: expect.any(String), fqdn: expect.stringMatching(/^http:/) }]);
      expect((await api.ask("GET", `/applications/${json.uuid}`)).json).toMatchObject({
        name: expect.stringMatching(/^docker-image-/),
        source: "image",
        build_pack: "dockerimage",
        docker_registry_image_name: name,
        docker_registry_image_tag: tag,
      });
    }
    Object.assign(api.engine.capabilities, { build_packs: ["nixpacks", "railpack", "static"] });
  });

  test("needs an image, and refuses what is none", async () => {
    const required = await api.ask("POST", "/applications/dockerimage", { body: api.where });
    expect(required.json.errors).toEqual({ docker_registry_image_name: ["This field is required."] });
    const wrong = await api.ask("POST", "/applications/dockerimage", image({ docker_registry_image_name: "a b" }));
    expect([wrong.status, Object.keys(wrong.json.errors)]).toEqual([422, ["docker_registry_image_name"]]);
  });
});

describe("an uploaded source", () => {
  test("is answered with its commit and size, which the next deployment builds", async () => {
    const { json } = await api.ask("POST", "/applications/upload", { body: { ...api.where, name: "Folder" } });
    const archive = Buffer.from("a tar archive, as far as this test goes");
    const uploaded = await api.ask("PUT", `/applications/${json.uuid}/source`, { upload: archive });
    expect([uploaded.status, uploaded.json]).toEqual([
      200,
      { commit: expect.stringMatching(/^[0-9a-f]{64}$/), size: archive.length },
    ]);
    const { json: queued } = await api.ask("POST", `/deploy?uuid=${json.uuid}`);
    const deployment = await api.ask("GET", `/deployments/${queued.deployments[0].deployment_uuid}`);
    expect(deployment.json.commit).toBe(uploaded.json.commit);
  });

  test("that is missing refuses a deployment with what to do", async () => {
    const { json } = await api.ask("POST", "/applications/upload", { body: api.where });
    const refused = await api.ask("POST", `/deploy?uuid=${json.uuid}`);
    expect([refused.status, refused.json.code]).toEqual([422, "source.not_found"]);
    expect(JSON.stringify(refused.json.errors)).toContain(`PUT /api/v1/applications/${json.uuid}/source`);
  });
});

describe("GET /applications", () => {
  test("answers a page with how many there are", async () => {
    await createdApplication(api);
    const all = await api.ask("GET", "/applications");
    const page = await api.ask("GET", "/applications?skip=1&take=2");
    expect(page.json.map(({ uuid }: { uuid: string }) => uuid)).toEqual(
      all.json.slice(1, 3).map(({ uuid }: { uuid: string }) => uuid),
    );
    expect(page.headers["x-total-count"]).toBe(String(all.json.length));
    expect(page.headers.link).toContain('rel="next"');
    expect((await api.ask("GET", "/applications?take=0")).status).toBe(422);
    expect((await api.ask("GET", "/applications?take=1001")).status).toBe(422);
  });

  test("[S65] answers those with a tag", async () => {
    const uuid = await createdApplication(api, { name: "Tagged" });
    const { id = 0 } = (await api.stores.applications.find(uuid)) ?? {};
    await api.stores.tags.attach(id, [{ uuid: testUuid(), name: "blue" }]);
    const { json } = await api.ask("GET", "/applications?tag=blue");
    expect(json.map((one: { uuid: string }) => one.uuid)).toEqual([uuid]);
    expect((await api.ask("GET", "/applications?tag=red")).json).toEqual([]);
    const queued = await api.ask("POST", "/deploy?tag=blue,red");
    expect(queued.json).toEqual({
      message: ["Application Tagged deployment queued."],
      details: [{ resource_uuid: uuid, deployment_uuid: expect.any(String) }],
    });
  });

  test("hides secrets without read:sensitive", async () => {
    await createdApplication(api, { manual_webhook_secret_github: "hush-hush" });
    const reader = await api.tokenWith("read");
    for (const path of ["/applications", "/resources", `/projects/${api.where.project_uuid}/production`]) {
      expect((await api.ask("GET", path, { token: reader })).text).not.toContain("hush-hush");
      expect((await api.ask("GET", path)).text).toContain("hush-hush");
    }
  });
});

describe("PATCH /applications/{uuid}", () => {
  test("changes what is sent and answers the uuid", async () => {
    const uuid = await createdApplication(api, { description: "before" });
    const body = { description: null, is_static: true, install_command: "", publish_directory: "/dist" };
    const { status, json } = await api.ask("PATCH", `/applications/${uuid}`, { body });
    expect([status, json]).toEqual([200, { uuid }]);
    const { json: now } = await api.ask("GET", `/applications/${uuid}`);
    expect(now).toMatchObject({ description: null, install_command: null, publish_directory: "/dist" });
    expect(now.settings.is_static).toBe(true);
  });

  test("with instant_deploy queues a deployment, once", async () => {
    const uuid = await createdApplication(api);
    const body = { start_command: "node .", instant_deploy: true };
    const first = await api.ask("PATCH", `/applications/${uuid}`, { body });
    const second = await api.ask("PATCH", `/applications/${uuid}`, { body });
    expect(second.json).toEqual({
      uuid,
      message: "Deployment already queued for this commit.",
      deployment_uuid: first.json.deployment_uuid,
    });
  });

  test("[S12] refuses what cannot be changed", async () => {
    const uuid = await createdApplication(api);
    for (const body of [{ uuid: "other" }, { server_uuid: "x" }, { status: "running" }, { is_build_time: true }]) {
      const { status, json } = await api.ask("PATCH", `/applications/${uuid}`, { body });
      expect([status, Object.keys(json.errors)]).toEqual([422, Object.keys(body)]);
    }
  });
});

describe("DELETE /applications/{uuid}", () => {
  test("answers at once, and the application reads as removing until it is gone", async () => {
    const uuid = await createdApplication(api);
    const path = `/applications/${uuid}?delete_volumes=false&docker_cleanup=0`;
    const { status, json } = await api.ask("DELETE", path);
    expect([status, json]).toEqual([
      200,
      { message: "Application deletion request queued.", job_uuid: expect.any(String) },
    ]);
    expect((await api.ask("GET", `/applications/${uuid}`)).json.status).toMatch(/^removing/);
    const record = await api.stores.applications.find(uuid);
    expect(record?.delete_volumes).toBe(false);
    await api.db.system.resources.delete(record?.id ?? 0);
    expect((await api.ask("GET", `/applications/${uuid}`)).json.message).toBe("Application not found.");
  });

  test("takes its four flags from the query or the body", async () => {
    const flags = ["delete_configurations", "delete_volumes", "docker_cleanup", "delete_connected_networks"];
    const kept = Object.fromEntries(flags.map((flag) => [flag, false]));
    const ways = [
      [`?${flags.map((flag) => `${flag}=false`).join("&")}`, {}],
      ["", { body: kept }],
      ["?delete_volumes=0", { body: { docker_cleanup: false } }],
    ] as const;
    for (const [query, options] of ways) {
      const uuid = await createdApplication(api);
      expect((await api.ask("DELETE", `/applications/${uuid}${query}`, options)).status).toBe(200);
      expect((await api.stores.applications.find(uuid))?.delete_volumes).toBe(false);
    }
    const uuid = await createdApplication(api);
    const unknown = await api.ask("DELETE", `/applications/${uuid}`, { body: { ...kept, delete_everything: true } });
    expect([unknown.status, Object.keys(unknown.json.errors)]).toEqual([422, ["delete_everything"]]);
    expect((await api.stores.applications.find(uuid))?.removing_at).toBeNull();
  });
});

describe("GET /applications/{uuid}/logs", () => {
  test("[S61] answers 400 while it does not run, whatever number of lines is asked for", async () => {
    const uuid = await createdApplication(api);
    for (const query of ["", "?lines=5", "?lines=none", "?lines=-1"]) {
      const { status, json } = await api.ask("GET", `/applications/${uuid}/logs${query}`);
      expect([status, json.message]).toEqual([400, "Application is not running."]);
    }
    expect((await api.ask("GET", `/applications/${uuid}/logs/follow`)).status).toBe(400);
  });
});
