import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  describeDocker,
  hostileValues,
  SERVER_IMAGE,
  type ServerContainer,
  startServerContainer,
} from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { dockerfile, sshServer } from "./crash.fixture.ts";
import { BUILD_FIELDS, FAILING_FIELDS, type Json, type Tenant, tenantOf } from "./hostile.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** What is written into a build or told to an engine. */
const DEPLOYED_FIELDS = [
  "start_command",
  "custom_docker_run_options",
  "health_check_command",
  "dockerfile_target_build",
];
/** Of the values: all are sent, and the kinds stand together in the corpus. */
const DEPLOYED_EVERY = 32;
const WORKERS = 2;
const QUICK_CHECK = {
  health_check_enabled: true,
  health_check_interval: 1,
  health_check_retries: 2,
  health_check_start_period: 1,
};

describeDocker("hostile values on a server over SSH", [SERVER_IMAGE, "busybox:stable", "caddy:2"], (docker) => {
  // The same path on both machines, and everybody may write to it.
  const folder = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  const markers = join(folder, "markers");
  const values = hostileValues(join(markers, "marker")).map(({ value }) => value);
  let server: TestServer;
  let machine: ServerContainer;
  let tenant: Tenant;
  let place: Json;

  beforeAll(async () => {
    chmodSync(folder, 0o755);
    mkdirSync(markers);
    chmodSync(markers, 0o777);
    [server, machine] = await Promise.all([testServer(), startServerContainer(docker)]);
    expect(await machine.exec(["mkdir", "-p", "-m", "777", markers])).toMatchObject({ exitCode: 0 });
    const server_uuid = await sshServer(server, machine, "web-1");
    tenant = await tenantOf(server);
    place = { ...(await placeOf(server)), server_uuid };
  }, 300_000);
  afterEach(async () => {
    expect(readdirSync(markers)).toEqual([]);
    expect(await machine.exec(["ls", "-A", markers])).toMatchObject({ exitCode: 0, output: "" });
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function create(settings: Json = {}): Promise<string> {
    const { status, body } = await tenant.ask("POST", "/applications/dockerfile", {
      ...place,
      dockerfile: dockerfile("ok"),
      ports_exposes: "80",
      ...QUICK_CHECK,
      ...settings,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return String(body.uuid);
  }

  /** Whatever comes of it, Berth itself has no part in why. */
  async function deployed(uuid: string): Promise<Outcome> {
    const outcome = await deploy(server, uuid);
    expect(outcome.log).not.toContain("for a reason of Berth's own");
    return outcome;
  }

  test("in every field of an application are refused or mere text", async () => {
    const fields = await tenant.textFields("/applications/{uuid}");
    const isHarmless = (name: string) => !BUILD_FIELDS.includes(name) && !FAILING_FIELDS.includes(name);
    const finished: string[] = [];
    const left = [...values.entries()];
    const work = async () => {
      const uuid = await create();
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        const [at, value] = item;
        const wanted = fields.filter(isHarmless).map((name) => [name, value] as const);
        await tenant.patchWhatIsTaken(`/applications/${uuid}`, Object.fromEntries(wanted));
        await tenant.patchWhatIsTaken(`/applications/${uuid}`, { domains: `http://web-${at}.example.test/${value}` });
        if (at % DEPLOYED_EVERY === 0 && (await deployed(uuid)).status === "finished") finished.push(value);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    expect(finished.length).toBeGreaterThan((values.length / DEPLOYED_EVERY) * 0.5);
  }, 300_000);

  test("in what shapes a build and a start do no more than fail them", async () => {
    for (const [index, field] of DEPLOYED_FIELDS.entries()) {
      const uuid = await create(field === "health_check_command" ? { health_check_type: "cmd" } : {});
      const taken: string[] = [];
      for (const value of values) {
        if ((await tenant.ask("PATCH", `/applications/${uuid}`, { [field]: value })).status === 200) taken.push(value);
      }
      // Of each field another kind of value is left in the end.
      const last = taken[Math.floor((taken.length * index) / DEPLOYED_FIELDS.length)];
      if (last === undefined) continue;
      await tenant.ask("PATCH", `/applications/${uuid}`, { [field]: last });
      await deployed(uuid);
    }
  }, 180_000);

  test("reach a build and a container as variables byte for byte", async () => {
    const uuid = await create();
    const expected: string[] = [];
    for (const [at, value] of values.entries()) {
      const key = `HOSTILE_${at}`;
      const { status } = await tenant.ask("POST", `/applications/${uuid}/envs`, { key, value });
      if (status === 201) expected.push(`${key}=${value}`);
    }
    expect(expected.length).toBeGreaterThan(values.length * 0.8);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const filter = ["--filter", `label=berth.resource=${uuid}`, "--filter", "label=berth.role=release"];
    const { output: id } = await machine.exec(["docker", "ps", "-q", ...filter]);
    const { output } = await machine.exec(["docker", "inspect", "--format", "{{json .Config.Env}}", id.trim()]);
    expect(JSON.parse(output)).toEqual(expect.arrayContaining(expected));
  }, 120_000);

  test("in storages are refused, or names of volumes and folders", async () => {
    // Folders of the server are for root alone, and are made on it where they are missing.
    const root = await tenantOf(server, ["root"]);
    const [first, second] = [await create(), await create()];
    const add = (uuid: string, storage: Json) => root.ask("POST", `/applications/${uuid}/storages`, storage);
    for (const [at, value] of values.entries()) {
      await add(first, { type: "persistent", name: value, mount_path: `/named/${at}` });
      await add(first, { type: "file", mount_path: `/content/${at}`, content: value });
      const host_path = `/srv/${value}`;
      await add(first, { type: "persistent", name: `host-${at}`, mount_path: `/host/${at}`, host_path });
      await add(second, { type: "persistent", name: `mounted-${at}`, mount_path: `/mounted/${value}` });
      await add(second, { type: "file", mount_path: `/file/${value}`, content: "x" });
    }
    const outcome = await deployed(first);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    await deployed(second);
  }, 180_000);

  test("in the fields of a server are refused or mere text", async () => {
    const root = await tenantOf(server, ["root"]);
    const { body: keys } = await server.rest("GET", "/security/keys");
    const private_key_uuid = (keys as { uuid: string }[])[0]?.uuid;
    const fields = { name: "hostile", ip: "127.0.0.1", port: 1, user: "root", private_key_uuid };
    for (const [at, value] of values.entries()) {
      for (const name of ["name", "ip", "user"]) {
        const wanted = { ...fields, [name]: value, instant_validate: at % DEPLOYED_EVERY === 0 };
        const { status, body } = await root.ask("POST", "/servers", wanted);
        if (status === 201) await root.ask("DELETE", `/servers/${body.uuid}`);
      }
    }
  }, 120_000);
});
