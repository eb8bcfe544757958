import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describeLargeDocker, type HostileValue, hostileRepositories, hostileValues } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { BUILD_FIELDS, beyondLimitsHere, FAILING_FIELDS, type Json, type Tenant, tenantOf } from "./hostile.fixture.ts";

const DOCKERFILE = [
  "FROM busybox:stable",
  "RUN mkdir /www && echo ok >/www/index.html",
  'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
  "",
].join("\n");
/** A failing check fails quickly. */
const QUICK_CHECK = {
  health_check_enabled: true,
  health_check_interval: 1,
  health_check_retries: 3,
  health_check_start_period: 1,
};
describeLargeDocker("hostile values on a real engine", ["busybox:stable", "caddy:2"], (docker) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  const markers = join(folder, "markers");
  const marker = join(markers, "marker");
  const secretFolder = join(folder, "secrets");
  const values = hostileValues(marker);
  let server: DockerServer;
  let tenant: Tenant;
  let place: Json;

  beforeAll(async () => {
    mkdirSync(markers);
    chmodSync(markers, 0o777);
    mkdirSync(secretFolder);
    writeFileSync(join(secretFolder, "secret"), `FROM busybox:stable\n# ${SECRET}\n`);
    server = await dockerServer(docker);
    tenant = await tenantOf(server);
    place = { ...(await placeOf(server)), server_uuid: server.dockerUuid, autogenerate_domain: false };
  });
  afterEach(async () => {
    expect(readdirSync(markers)).toEqual([]);
    expect(await beyondLimitsHere(docker, known)).toEqual([]);
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function create(settings: Json = {}): Promise<string> {
    const { status, body } = await tenant.ask("POST", "/applications/dockerfile", {
      ...place,
      dockerfile: DOCKERFILE,
      ports_exposes: "80",
      ...QUICK_CHECK,
      ...settings,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    known.add(String(body.uuid));
    return String(body.uuid);
  }

  const known = new Set<string>();

  /** Deploys, whatever comes of it. Not before it has ended, and what runs then is within its limits. */
  async function deployed(uuid: string): Promise<Outcome> {
    const outcome = await deploy(server, uuid);
    expect(readdirSync(markers), outcome.log).toEqual([]);
    expect(await beyondLimitsHere(docker, known), outcome.log).toEqual([]);
    return outcome;
  }

  async function inParallel<T>(items: readonly T[], work: (item: T, worker: string) => Promise<void>): Promise<void> {
    const left = [...items];
    const workers = await Promise.all(Array.from({ length: 3 }, () => create({ name: "scalars" })));
    await Promise.all(
      workers.map(async (worker) => {
        for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item, worker);
      }),
    );
  }

  test("the corpus is large, and says nothing twice", () => {
    expect(new Set(values.map(({ value }) => value)).size).toBe(values.length);
    expect(values.length).toBeGreaterThan(60);
  });

  test("in every field of an application are refused or mere text", async () => {
    const fields = await tenant.textFields("/applications/{uuid}");
    const taken = new Map<string, number>();
    const finished: HostileValue[] = [];
    await inParallel([...values.entries()], async ([at, hostile], uuid) => {
      const wanted = fields.filter((name) => !BUILD_FIELDS.includes(name) && !FAILING_FIELDS.includes(name));
      const names = await tenant.patchWhatIsTaken(
        `/applications/${uuid}`,
        Object.fromEntries(wanted.map((name) => [name, hostile.value])),
      );
      for (const name of names) taken.set(name, (taken.get(name) ?? 0) + 1);
      // All are sent; a deployment takes seconds, and the kinds stand together in the corpus.
      if (at % DEPLOYED_EVERY === 0 && (await deployed(uuid)).status === "finished") finished.push(hostile);
    });
    // Fields for free text take nearly all, and what is text for all of them runs as if nothing were.
    expect(taken.get("post_deployment_command")).toBeGreaterThan(values.length * 0.8);
    expect(finished.length).toBeGreaterThan((values.length / DEPLOYED_EVERY) * 0.5);
  }, 900_000);

  test("in fields that may fail a deployment do that at most", async () => {
    await inParallel([...FAILING_FIELDS.entries()], async ([index, field], uuid) => {
      if (field === "health_check_command")
        await tenant.ask("PATCH", `/applications/${uuid}`, { health_check_type: "cmd" });
      for (const [at, { value }] of values.entries()) {
        const { status } = await tenant.ask("PATCH", `/applications/${uuid}`, { [field]: value });
        // Each of these fields meets values of every kind; the kinds stand together in the corpus.
        if (status === 200 && at % (2 * FAILING_FIELDS.length) === 2 * index) await deployed(uuid);
      }
    });
  }, 900_000);

  test("in the fields of a build are refused or mere text", async () => {
    await inParallel(values, async ({ value }, uuid) => {
      await tenant.patchWhatIsTaken(
        `/applications/${uuid}`,
        Object.fromEntries(BUILD_FIELDS.map((name) => [name, value])),
      );
    });
  });

  test("reach the application as variables byte for byte", async () => {
    const uuid = await create({ name: "variables" });
    const expected: string[] = [];
    for (const [at, { value }] of values.entries()) {
      const key = `HOSTILE_${at}`;
      const { status } = await tenant.ask("POST", `/applications/${uuid}/envs`, { key, value, is_literal: true });
      if (status === 201) expected.push(`${key}=${value}`);
      await tenant.ask("POST", `/applications/${uuid}/envs`, { key: value, value: "x" });
    }
    expect(expected.length).toBeGreaterThan(values.length * 0.8);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const [container] = await docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`] } });
    const { Config } = await docker.client.getContainer(container?.Id ?? "").inspect();
    expect(Config.Env).toEqual(expect.arrayContaining(expected));
  });

  test("in storages are refused, or mounted from volumes of the application's own", async () => {
    const uuid = await create({ name: "storages" });
    for (const [at, { value }] of values.entries()) {
      const path = `/applications/${uuid}/storages`;
      await tenant.ask("POST", path, { type: "persistent", name: value, mount_path: `/named/${at}` });
      await tenant.ask("POST", path, { type: "persistent", name: `mounted-${at}`, mount_path: value });
      await tenant.ask("POST", path, {
        type: "persistent",
        name: `host-${at}`,
        mount_path: `/host/${at}`,
        host_path: value,
      });
      await tenant.ask("POST", path, { type: "file", mount_path: `/content/${at}`, content: value });
      await tenant.ask("POST", path, { type: "file", mount_path: `/folder/${at}`, is_directory: true, fs_path: value });
    }
    await deployed(uuid);
  });

  test("in scheduled tasks run in the container of the application and nowhere else", async () => {
    const uuid = await create({ name: "tasks" });
    for (const { value } of values) {
      const path = `/applications/${uuid}/scheduled-tasks`;
      await tenant.ask("POST", path, { name: value, command: value, frequency: "* * * * *" });
      await tenant.ask("POST", path, { name: "task", command: "true", frequency: value });
      await tenant.ask("POST", path, { name: "task", command: "true", frequency: "* * * * *", container: value });
    }
    await deployed(uuid);
  });

  describe("a repository with", () => {
    test.each(hostileRepositories({ marker, secretFolder }).map((hostile) => [hostile.name, hostile] as const))(
      "%s takes nothing from this machine",
      async (name, { settings, make }) => {
        const repository = make(join(folder, name.replaceAll(" ", "-")));
        const { status, body } = await server.rest("POST", "/applications/public", {
          ...place,
          git_repository: repository.url,
          git_branch: "main",
          build_pack: "dockerfile",
          ports_exposes: "80",
          health_check_path: "/etc/hostname",
          ...QUICK_CHECK,
          ...settings,
        });
        expect(status, JSON.stringify(body)).toBe(201);
        const { uuid } = body as { uuid: string };
        known.add(uuid);
        const outcome = await deployed(uuid);
        expect(outcome.log).not.toContain(SECRET);
        const [container] = await docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`] } });
        if (container === undefined) return;
        expect(await readAll(container.Id)).not.toContain(SECRET);
      },
    );
  });

  /** Content of the repository's files. */
  async function readAll(id: string): Promise<string> {
    const script = "find /copied /copied2 -type f -exec cat {} + 2>/dev/null";
    const exec = await docker.client.getContainer(id).exec({ Cmd: ["sh", "-c", script], AttachStdout: true });
    return await text(await exec.start({}));
  }
});

const DEPLOYED_EVERY = 8;
const SECRET = "the-secret-of-this-machine";
