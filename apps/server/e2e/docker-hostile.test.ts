import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describeDocker, type HostileValue, hostileRepositories, hostileValues } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

type Json = Readonly<Record<string, unknown>>;
interface Refusal {
  readonly errors?: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

const DOCKERFILE = [
  "FROM busybox:stable",
  "RUN mkdir /www && echo ok >/www/index.html",
  'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
  "",
].join("\n");
/** What fails its check does so soon. */
const QUICK_CHECK = {
  health_check_enabled: true,
  health_check_interval: 1,
  health_check_retries: 3,
  health_check_start_period: 1,
};
/** They shape where from and how it is built; a build that fails would hide what comes after it. */
const BUILD_FIELDS = [
  ...["git_repository", "git_branch", "git_commit_sha", "install_command", "build_command", "base_directory"],
  ...["publish_directory", "dockerfile_location", "dockerfile_target_build", "docker_registry_image_name"],
  ...["docker_registry_image_tag", "docker_compose_location", "build_pack", "static_image"],
];
/** With these a deployment ends as failed, and what they stand for is tried with some of the values only. */
const FAILING_FIELDS = [
  ...["dockerfile", "pre_deployment_command", "start_command", "custom_docker_run_options"],
  ...["limits_cpuset", "custom_network_aliases"],
  ...["health_check_command", "health_check_path", "health_check_response_text"],
];

describeDocker("hostile values on a real engine", ["busybox:stable", "caddy:2"], (docker) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  const markers = join(folder, "markers");
  const marker = join(markers, "marker");
  const secretFolder = join(folder, "secrets");
  const values = hostileValues(marker);
  let server: DockerServer;
  /** May do everything but reach into the server itself. */
  let token: string;
  let place: Json;

  beforeAll(async () => {
    mkdirSync(markers);
    chmodSync(markers, 0o777);
    mkdirSync(secretFolder);
    writeFileSync(join(secretFolder, "secret"), `FROM busybox:stable\n# ${SECRET}\n`);
    server = await dockerServer(docker);
    const abilities = ["read", "read:sensitive", "write", "write:sensitive", "deploy"];
    token = ((await server.rest("POST", "/tokens", { name: "tenant", abilities })).body as { token: string }).token;
    place = { ...(await placeOf(server)), server_uuid: server.dockerUuid, autogenerate_domain: false };
  }, 120_000);
  afterEach(async () => {
    expect(readdirSync(markers)).toEqual([]);
    expect(await beyondLimits()).toEqual([]);
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function ask(method: string, path: string, body?: Json): Promise<{ status: number; body: Json & Refusal }> {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`The server does not answer ${JSON.stringify([path, body])}: ${server.output()}`, { cause });
    });
    const answer = { status: response.status, body: (await response.json()) as Json & Refusal };
    // Whatever it is, it is refused or taken: it breaks nothing.
    expect(answer.status, JSON.stringify([path, body, answer.body]).slice(0, 500)).toBeLessThan(500);
    return answer;
  }

  async function create(settings: Json = {}): Promise<string> {
    const { status, body } = await ask("POST", "/applications/dockerfile", {
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

  /** Sends all fields at once, then again without the refused ones. @returns Which were taken. */
  async function patchWhatIsTaken(uuid: string, wanted: Json): Promise<readonly string[]> {
    let rest = { ...wanted };
    while (Object.keys(rest).length > 0) {
      const { status, body } = await ask("PATCH", `/applications/${uuid}`, rest);
      if (status === 200) return Object.keys(rest);
      const named = Object.keys(body.errors ?? {}).map((path) => path.split(".")[0] ?? path);
      const refused = named.filter((name) => name in rest);
      // A refusal that names no field, as one for missing rights, is of one of them: each is tried alone.
      if (refused.length === 0) return await patchEach(uuid, rest);
      rest = Object.fromEntries(Object.entries(rest).filter(([name]) => !refused.includes(name)));
    }
    return [];
  }

  async function patchEach(uuid: string, wanted: Json): Promise<readonly string[]> {
    const taken: string[] = [];
    for (const [name, value] of Object.entries(wanted)) {
      if ((await ask("PATCH", `/applications/${uuid}`, { [name]: value })).status === 200) taken.push(name);
    }
    return taken;
  }

  /** Everything that this instance runs and that is not its proxy, against what a tenant may have. */
  async function beyondLimits(): Promise<readonly string[]> {
    const filters = { label: [`berth.instance=${docker.instance}`, "berth.role=release"] };
    const containers = await docker.client.listContainers({ all: true, filters });
    const all = await Promise.all(
      containers.map(({ Id }) =>
        docker.client
          .getContainer(Id)
          .inspect()
          .catch(() => undefined),
      ),
    );
    const { Volumes } = await docker.client.listVolumes({ filters: { label: [`berth.instance=${docker.instance}`] } });
    const ownerOf = new Map((Volumes ?? []).map(({ Name, Labels }) => [Name, Labels?.["berth.resource"]]));
    return all.flatMap((container) => {
      if (container === undefined) return [];
      const { HostConfig, Mounts, NetworkSettings, Config } = container;
      const own = Config.Labels["berth.resource"] ?? "";
      const wrong = {
        privileged: HostConfig.Privileged,
        capabilities: (HostConfig.CapAdd ?? []).length > 0,
        devices: (HostConfig.Devices ?? []).length > 0,
        security: (HostConfig.SecurityOpt ?? []).length > 0,
        processes: !["", "private"].includes(HostConfig.PidMode ?? ""),
        memory: !["", "private", "shareable"].includes(HostConfig.IpcMode ?? ""),
        host: [HostConfig.NetworkMode, HostConfig.UTSMode, HostConfig.UsernsMode].includes("host"),
        network: Object.keys(NetworkSettings.Networks).some((name) => !name.startsWith(docker.run)),
        mounts: Mounts.some(({ Type, Name = "" }) => Type !== "volume" || ownerOf.get(Name) !== own),
        foreign: !known.has(own),
      };
      const reasons = Object.entries(wrong).flatMap(([what, isWrong]) => (isWrong ? [what] : []));
      return reasons.map((what) => `${container.Name} ${what}`);
    });
  }
  const known = new Set<string>();

  /** Deploys, whatever comes of it. Not before it has ended, and what runs then is within its limits. */
  async function deployed(uuid: string): Promise<Outcome> {
    const outcome = await deploy(server, uuid);
    expect(readdirSync(markers), outcome.log).toEqual([]);
    expect(await beyondLimits(), outcome.log).toEqual([]);
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
    const fields = await textFields("/applications/{uuid}");
    const taken = new Map<string, number>();
    const finished: HostileValue[] = [];
    await inParallel([...values.entries()], async ([at, hostile], uuid) => {
      const wanted = fields.filter((name) => !BUILD_FIELDS.includes(name) && !FAILING_FIELDS.includes(name));
      const names = await patchWhatIsTaken(uuid, Object.fromEntries(wanted.map((name) => [name, hostile.value])));
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
      if (field === "health_check_command") await ask("PATCH", `/applications/${uuid}`, { health_check_type: "cmd" });
      for (const [at, { value }] of values.entries()) {
        const { status } = await ask("PATCH", `/applications/${uuid}`, { [field]: value });
        // Each form of harm reaches one of these fields, and each of these fields meets every kind of harm.
        if (status === 200 && at % FAILING_FIELDS.length === index) await deployed(uuid);
      }
    });
  }, 900_000);

  test("in the fields of a build are refused or mere text", async () => {
    await inParallel(values, async ({ value }, uuid) => {
      await patchWhatIsTaken(uuid, Object.fromEntries(BUILD_FIELDS.map((name) => [name, value])));
    });
  }, 300_000);

  test("reach the application as variables byte for byte", async () => {
    const uuid = await create({ name: "variables" });
    const expected: string[] = [];
    for (const [at, { value }] of values.entries()) {
      const key = `HOSTILE_${at}`;
      const { status } = await ask("POST", `/applications/${uuid}/envs`, { key, value, is_literal: true });
      if (status === 201) expected.push(`${key}=${value}`);
      await ask("POST", `/applications/${uuid}/envs`, { key: value, value: "x" });
    }
    expect(expected.length).toBeGreaterThan(values.length * 0.8);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const [container] = await docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`] } });
    const { Config } = await docker.client.getContainer(container?.Id ?? "").inspect();
    expect(Config.Env).toEqual(expect.arrayContaining(expected));
  }, 300_000);

  test("in storages are refused, or mounted from volumes of the application's own", async () => {
    const uuid = await create({ name: "storages" });
    for (const [at, { value }] of values.entries()) {
      const path = `/applications/${uuid}/storages`;
      await ask("POST", path, { type: "persistent", name: value, mount_path: `/named/${at}` });
      await ask("POST", path, { type: "persistent", name: `mounted-${at}`, mount_path: value });
      await ask("POST", path, { type: "persistent", name: `host-${at}`, mount_path: `/host/${at}`, host_path: value });
      await ask("POST", path, { type: "file", mount_path: `/content/${at}`, content: value });
      await ask("POST", path, { type: "file", mount_path: `/folder/${at}`, is_directory: true, fs_path: value });
    }
    await deployed(uuid);
  }, 300_000);

  test("in scheduled tasks run in the container of the application and nowhere else", async () => {
    const uuid = await create({ name: "tasks" });
    for (const { value } of values) {
      const path = `/applications/${uuid}/scheduled-tasks`;
      await ask("POST", path, { name: value, command: value, frequency: "* * * * *" });
      await ask("POST", path, { name: "task", command: "true", frequency: value });
      await ask("POST", path, { name: "task", command: "true", frequency: "* * * * *", container: value });
    }
    await deployed(uuid);
  }, 300_000);

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
      120_000,
    );
  });

  /** Of the files that the repository brought. */
  async function readAll(id: string): Promise<string> {
    const script = "find /copied /copied2 -type f -exec cat {} + 2>/dev/null";
    const exec = await docker.client.getContainer(id).exec({ Cmd: ["sh", "-c", script], AttachStdout: true });
    return await text(await exec.start({}));
  }

  /** Fields of a change whose values are, or hold, a text. */
  async function textFields(path: string): Promise<readonly string[]> {
    const description = (await (await fetch(`${server.url}/api/v1/openapi.json`)).json()) as Description;
    const schema = description.paths[path]?.patch?.requestBody?.content["application/json"]?.schema;
    const name = schema?.$ref?.split("/").at(-1);
    const properties = (name === undefined ? schema : description.components.schemas[name])?.properties ?? {};
    const isText = (value: unknown) => JSON.stringify(value).includes('"string"');
    return Object.keys(properties).filter((key) => isText(properties[key]) && key !== "name");
  }
});

const DEPLOYED_EVERY = 4;
const SECRET = "the-secret-of-this-machine";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Json;
}

/** What is read of the API's description. */
interface Description {
  readonly paths: Readonly<Record<string, { readonly patch?: Operation } | undefined>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema | undefined>> };
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema } | undefined>> };
}
