import { testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
let private_key_uuid: string;
beforeAll(async () => {
  api = await served();
  private_key_uuid = (await testPrivateKey(api.stores)).uuid;
});
afterAll(() => api.close());

const newServer = (fields: object = {}) => ({ ip: `${testUuid()}.example`, private_key_uuid, ...fields });

async function createdServer(fields: object = {}): Promise<string> {
  const { status, json } = await api.ask("POST", "/servers", { body: newServer(fields) });
  expect([status, json]).toEqual([201, { uuid: expect.any(String) }]);
  return json.uuid;
}

describe("POST /servers", () => {
  test("[S22] takes a proxy type in any case of letters, and answers it", async () => {
    const uuid = await createdServer({ proxy_type: "Caddy", port: "2222", is_build_server: "1", description: "" });
    const { status, json } = await api.ask("GET", `/servers/${uuid}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      proxy_type: "caddy",
      proxy: { type: "CADDY", status: "exited" },
      port: 2222,
      user: "root",
      description: null,
      settings: { is_build_server: true, is_reachable: false },
    });
  });

  test("[S19] [S20] [S21] answers its settings in an object of their own", async () => {
    const { json } = await api.ask("GET", `/servers/${await createdServer()}`);
    expect(json.settings).toMatchObject({
      deployment_queue_limit: 25,
      delete_unused_volumes: false,
      delete_unused_networks: false,
    });
    expect(Object.keys(json).filter((key) => key.startsWith("delete_unused"))).toEqual([]);
    const { json: list } = await api.ask("GET", "/servers");
    for (const server of list) expect(server.settings.deployment_queue_limit).toEqual(expect.any(Number));
  });

  test.each([
    [{ proxy_type: "apache" }, { proxy_type: ["Must be one of: traefik, caddy, nginx, none."] }],
    [{ ip: "" }, { ip: ["Must be an IP address or a host name."] }],
    [{ ip: "300.1.1.1" }, { ip: ["Must be an IP address or a host name."] }],
    [{ ip: undefined }, { ip: ["This field is required."] }],
    [{ private_key_uuid: undefined }, { private_key_uuid: ["This field is required."] }],
    [{ user: "root;id" }, { user: [expect.any(String)] }],
    [{ port: 70000 }, { port: [expect.any(String)] }],
    [{ engine: "process" }, { engine: ["This field is not allowed."] }],
    [{ delete_unused_volumes: true }, { delete_unused_volumes: ["This field is not allowed."] }],
  ])("refuses %j", async (fields, errors) => {
    const { status, json } = await api.ask("POST", "/servers", { body: newServer(fields) });
    expect([status, json.message, json.errors]).toEqual([422, "Validation failed.", errors]);
  });

  test("refuses an address twice and a key that is not there", async () => {
    const body = newServer();
    expect((await api.ask("POST", "/servers", { body })).status).toBe(201);
    const again = await api.ask("POST", "/servers", { body });
    expect([again.status, again.json.message]).toEqual([400, "A server with this IP/Domain is already in use."]);
    const keyless = await api.ask("POST", "/servers", { body: newServer({ private_key_uuid: "nope" }) });
    expect([keyless.status, keyless.json.message]).toEqual([404, "Private key not found."]);
  });
});

describe("PATCH /servers/{uuid}", () => {
  test("[S22] [S63] takes the server's uuid in the path and a proxy type", async () => {
    const uuid = await createdServer();
    const { status, json } = await api.ask("PATCH", `/servers/${uuid}`, { body: { proxy_type: "NONE" } });
    expect([status, json]).toEqual([201, { uuid }]);
    expect((await api.ask("GET", `/servers/${uuid}`)).json.proxy).toMatchObject({ type: "NONE", status: "exited" });
    const refused = await api.ask("PATCH", `/servers/${uuid}`, { body: { proxy_type: "apache" } });
    expect([refused.status, refused.json.errors]).toEqual([
      422,
      { proxy_type: ["Must be one of: traefik, caddy, nginx, none."] },
    ]);
    const engine = await api.ask("PATCH", `/servers/${uuid}`, { body: { engine: "process" } });
    expect(engine.status).toBe(422);
  });

  test("[S72] bounds the deployments that wait by the limit that was set", async () => {
    const uuid = await createdServer();
    await api.ask("PATCH", `/servers/${uuid}`, { body: { deployment_queue_limit: 3 } });
    const applications = [];
    for (let count = 0; count < 5; count++) applications.push(await createdApplication(api, { server_uuid: uuid }));
    const answers = await Promise.all(applications.map((each) => api.ask("POST", `/deploy?uuid=${each}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429]);
  });
});

describe("DELETE /servers/{uuid}", () => {
  test("[S50] [S63] is refused while it has resources, unless force says otherwise", async () => {
    const uuid = await createdServer({ name: "web-1" });
    const application = await createdApplication(api, { server_uuid: uuid });
    for (const query of ["", "?force=false", "?force=0"]) {
      const { status, json } = await api.ask("DELETE", `/servers/${uuid}${query}`);
      expect([status, json.code]).toEqual([400, "resource.in_use"]);
      expect(json.message).toMatch(/^Server web-1 has resources\./);
    }
    const { status, json } = await api.ask("DELETE", `/servers/${uuid}?force=on`);
    expect([status, json]).toEqual([200, { message: expect.any(String), job_uuid: expect.any(String) }]);
    expect((await api.ask("GET", `/applications/${application}`)).json.status).toBe("removing:unhealthy");
  });

  test("answers at once, with the job that does it", async () => {
    const uuid = await createdServer();
    const { status, json } = await api.ask("DELETE", `/servers/${uuid}`);
    expect([status, json.message]).toEqual([200, "Server deleted."]);
    const job = await api.ask("GET", `/jobs/${json.job_uuid}`);
    expect([job.status, job.json]).toEqual([
      200,
      expect.objectContaining({
        ...{ uuid: json.job_uuid, type: "server.delete", status: "queued", error: null, attempts: 0 },
        ...{ subject_type: "server", subject_uuid: uuid, started_at: null, finished_at: null },
      }),
    ]);
  });

  test("does not delete the machine that Berth runs on", async () => {
    const { status, json } = await api.ask("DELETE", `/servers/${api.where.server_uuid}?force=true`);
    expect([status, json.message]).toEqual([400, "Local server cannot be deleted."]);
  });
});

describe("/servers/{uuid}/validate", () => {
  test.each(["GET", "POST"] as const)("begins by %s", async (method) => {
    const uuid = await createdServer();
    const { status, json } = await api.ask(method, `/servers/${uuid}/validate`);
    expect([status, json]).toEqual([201, { message: "Validation started.", job_uuid: expect.any(String) }]);
    expect((await api.ask("GET", `/servers/${uuid}`)).json).toMatchObject({
      is_validating: true,
      validation_logs: null,
    });
  });

  test("needs the ability to write", async () => {
    const token = await api.tokenWith("read");
    expect((await api.ask("GET", `/servers/${api.where.server_uuid}/validate`, { token })).status).toBe(403);
  });
});

describe("GET /servers/{uuid}/domains", () => {
  test("lists the server's hosts, or the URLs of the application that the query names", async () => {
    const uuid = await createdServer();
    const urls = "https://a.rest.example/x,https://b.rest.example";
    const application = await createdApplication(api, { server_uuid: uuid, domains: urls });
    const { ip } = (await api.ask("GET", `/servers/${uuid}`)).json;
    const all = await api.ask("GET", `/servers/${uuid}/domains`);
    expect([all.status, all.json]).toEqual([200, [{ ip, domains: ["a.rest.example", "b.rest.example"] }]]);
    const own = await api.ask("GET", `/servers/${uuid}/domains?uuid=${application}&take=1`);
    expect([own.json, own.headers["x-total-count"]]).toEqual([["https://a.rest.example/x"], "2"]);
    const none = await api.ask("GET", `/servers/${uuid}/domains?uuid=nope`);
    expect([none.status, none.json.message]).toEqual([404, "Application not found."]);
  });
});

describe("GET /servers/{uuid}/resources", () => {
  test("lists every kind, and the deletion of each is a job", async () => {
    const where = { ...api.where, server_uuid: await createdServer() };
    const docker_compose = "services:\n  web:\n    image: nginx\n";
    const made = [
      ["applications", await createdApplication(api, { server_uuid: where.server_uuid })],
      ["databases", (await api.ask("POST", "/databases/postgresql", { body: where })).json.uuid],
      ["services", (await api.ask("POST", "/services", { body: { ...where, docker_compose } })).json.uuid],
    ] as const;
    const { status, json, headers } = await api.ask("GET", `/servers/${where.server_uuid}/resources`);
    expect([status, headers["x-total-count"]]).toEqual([200, "3"]);
    expect(json.map((each: Record<string, unknown>) => [each.uuid, each.type, each.status])).toEqual([
      [made[0][1], "application", "exited:unhealthy"],
      [made[1][1], "standalone-postgresql", "exited:unhealthy"],
      [made[2][1], "service", "exited"],
    ]);
    const detailed = await api.ask("GET", `/servers/${where.server_uuid}?resources=true`);
    expect(detailed.json.resources).toEqual(json);
    for (const [plural, uuid] of made) {
      const answer = await api.ask("DELETE", `/${plural}/${uuid}`);
      const job = await api.ask("GET", `/jobs/${answer.json.job_uuid}`);
      expect(job.json).toMatchObject({ type: "resource.delete", subject_uuid: uuid, status: "queued" });
    }
  });
});

describe("/destinations", () => {
  test("can be listed, made, renamed and deleted", async () => {
    const uuid = await createdServer();
    const path = `/servers/${uuid}/destinations`;
    const made = await api.ask("POST", path, { body: { network: "other", name: "" } });
    expect([made.status, made.json]).toEqual([
      201,
      expect.objectContaining({ name: "other", network: "other", type: "standalone", server_uuid: uuid }),
    ]);
    const own = await api.ask("GET", path);
    expect(own.json.map(({ network }: { network: string }) => network)).toEqual(["berth", "other"]);
    expect(own.headers["x-total-count"]).toBe("2");
    const destination = `/destinations/${made.json.uuid}`;
    expect((await api.ask("PATCH", destination, { body: { name: "renamed" } })).json.name).toBe("renamed");
    expect((await api.ask("GET", destination)).json.name).toBe("renamed");
    expect((await api.ask("GET", "/destinations")).json).toContainEqual((await api.ask("GET", destination)).json);
    expect((await api.ask("DELETE", destination)).json).toEqual({ message: "Deleted." });
    expect((await api.ask("GET", destination)).status).toBe(404);
  });

  test("are refused twice on one server, with a network that is none, and to go while in use", async () => {
    const path = `/servers/${await createdServer()}/destinations`;
    const again = await api.ask("POST", path, { body: { network: "berth" } });
    expect([again.status, again.json.code]).toEqual([409, "resource.already_exists"]);
    for (const network of ["", "-x", "a b", "a;b"]) {
      expect((await api.ask("POST", path, { body: { network } })).status).toBe(422);
    }
    await createdApplication(api);
    const used = await api.ask("DELETE", `/destinations/${api.place.destination.uuid}`);
    expect([used.status, used.json.code]).toEqual([409, "destination.in_use"]);
  });
});

describe("/jobs", () => {
  test("are listed by status, type and subject, the newest first", async () => {
    const uuid = await createdServer();
    const validated = await api.ask("POST", `/servers/${uuid}/validate`);
    const deleted = await api.ask("DELETE", `/servers/${uuid}`);
    const uuidsOf = async (query: string) => {
      const { status, json, headers } = await api.ask("GET", `/jobs?subject=${uuid}${query}`);
      return [status, json.map((job: { uuid: string }) => job.uuid), headers["x-total-count"]];
    };
    const [validation, deletion] = [validated.json.job_uuid, deleted.json.job_uuid];
    expect(await uuidsOf("")).toEqual([200, [deletion, validation], "2"]);
    expect(await uuidsOf("&take=1")).toEqual([200, [deletion], "2"]);
    expect(await uuidsOf("&type=server.validate")).toEqual([200, [validation], "1"]);
    expect(await uuidsOf("&status=finished")).toEqual([200, [], "0"]);
    const refused = await api.ask("GET", "/jobs?status=running");
    expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ["status"]]);
  });

  test("are named by the answer to the deletion of a resource", async () => {
    const uuid = await createdApplication(api);
    const { json } = await api.ask("DELETE", `/applications/${uuid}`);
    expect(json).toEqual({ message: "Application deletion request queued.", job_uuid: expect.any(String) });
    expect((await api.ask("GET", `/jobs/${json.job_uuid}`)).json).toMatchObject({
      ...{ type: "resource.delete", subject_type: "application", subject_uuid: uuid },
    });
    expect((await api.ask("DELETE", `/applications/${uuid}`)).json.job_uuid).toBe(json.job_uuid);
  });
});
