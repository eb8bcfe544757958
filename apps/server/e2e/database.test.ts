import { connect } from "node:net";
import { engineFields } from "@berth/core/database";
import { describeDocker, TEST_CLIENTS, type TestClient, until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askClient, DATABASE_DEADLINE_MS, databaseCalls, type ShownDatabase } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { freePorts } from "./server.fixture.ts";

type Engine = keyof typeof TEST_CLIENTS;

const newPasswords = (engine: Engine): Readonly<Record<string, string>> =>
  Object.fromEntries(
    engineFields(engine).flatMap(([name, { type }]) => (type === "password" ? [[name, `new/${name}(~)%:#`]] : [])),
  );

const IMAGES = [...Object.values(TEST_CLIENTS).map(({ image }) => image), "nginx:alpine"];

describeDocker("a database on this machine's Docker engine", IMAGES, (docker) => {
  let server: DockerServer;
  const network = docker.name("databases");
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: network } });
  });
  afterAll(async () => server?.dispose());

  const { done, show, shows, run, create: createOf } = databaseCalls(() => server);
  const create = (engine: Engine, fields: object = {}) => createOf(engine, TEST_CLIENTS[engine].image, fields);
  const volumesOf = async (uuid: string) =>
    ((await docker.client.listVolumes({ filters: { label: [`berth.resource=${uuid}`] } })).Volumes ?? []).length;

  const ask = (image: string, networkMode: string, argv: readonly string[]) =>
    askClient(docker, { image, networkMode }, argv);
  const asked = (client: TestClient, { external_db_url, internal_db_url }: ShownDatabase) => ({
    fromOutside: (of: (url: string) => readonly string[]) => ask(client.image, "host", of(external_db_url ?? "")),
    fromInside: (of: (url: string) => readonly string[]) => ask(client.image, network, of(internal_db_url)),
  });
  const isOpen = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false));
      socket.once("close", () => socket.destroy());
    });

  describe.each(Object.keys(TEST_CLIENTS) as Engine[])("of %s", (engine) => {
    const client: TestClient = TEST_CLIENTS[engine];
    test("is reached by both of its URLs, and keeps what was written over a restart that changes its passwords", async () => {
      const [public_port] = await freePorts(1);
      const uuid = await create(engine, { is_public: true, public_port });
      const shown = await shows(uuid, "running:healthy");
      expect(shown).toMatchObject({ restart_count: 0, started_at: expect.any(String) });
      const { fromOutside, fromInside } = asked(client, shown);
      await until(async () => (await isOpen(public_port ?? 0)) || undefined, { seconds: DATABASE_DEADLINE_MS / 1000 });
      expect(await fromOutside((url) => client.write(url, "kept"))).toEqual([0, expect.any(String)]);
      expect(await fromInside(client.read)).toEqual([0, "kept"]);
      await done("PATCH", `/databases/${uuid}`, newPasswords(engine));
      const outcome = await run(uuid, "restart");
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      const restarted = await shows(uuid, "running:healthy");
      expect(restarted.internal_db_url).not.toBe(shown.internal_db_url);
      expect(await asked(client, restarted).fromOutside(client.read)).toEqual([0, "kept"]);
      expect(await asked(client, restarted).fromInside(client.read)).toEqual([0, "kept"]);
      expect(await fromOutside(client.read)).not.toEqual([0, "kept"]);
      await done("DELETE", `/databases/${uuid}`);
      await until(async () => (await server.rest("GET", `/databases/${uuid}`)).status === 404 || undefined);
      expect(await volumesOf(uuid)).toBe(0);
    });
  });

  test("is stopped, started, changed, made private and deleted as it is asked for", async () => {
    const client = TEST_CLIENTS.postgresql;
    const [public_port = 0] = await freePorts(1);
    const uuid = await create("postgresql", { is_public: true, public_port });
    const shown = await shows(uuid, "running:healthy");
    const { fromInside } = asked(client, shown);
    expect(await fromInside((url) => client.write(url, "kept"))).toEqual([0, expect.any(String)]);
    await until(async () => (await isOpen(public_port)) || undefined);

    await done("POST", `/databases/${uuid}/stop`);
    await shows(uuid, "exited:unhealthy");
    await until(async () => !(await isOpen(public_port)) || undefined);
    const changed = { postgres_conf: "max_connections = 17", postgres_password: "changed-meanwhile" };
    await done("PATCH", `/databases/${uuid}`, changed);
    const outcome = await run(uuid, "start");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toContain("Changed the passwords inside the database.");
    const restarted = await shows(uuid, "running:healthy");
    expect(restarted.internal_db_url).toContain(":changed-meanwhile@");
    expect(await fromInside(client.read)).not.toEqual([0, "kept"]);
    const { fromInside: fromInsideAnew } = asked(client, restarted);
    expect(await fromInsideAnew((url) => ["psql", url, "-Atc", "SHOW max_connections"])).toEqual([0, "17"]);
    expect(await fromInsideAnew(client.read)).toEqual([0, "kept"]);
    await until(async () => (await isOpen(public_port)) || undefined);

    await done("PATCH", `/databases/${uuid}`, { is_public: false });
    await until(async () => !(await isOpen(public_port)) || undefined);
    expect(await show(uuid)).toMatchObject({ external_db_url: null });
    expect(await fromInsideAnew(client.read)).toEqual([0, "kept"]);

    await done("DELETE", `/databases/${uuid}?delete_volumes=false`);
    await until(async () => (await server.rest("GET", `/databases/${uuid}`)).status === 404 || undefined);
    expect(await volumesOf(uuid)).toBe(1);
  });

  test("gets its owner's variables and scripts when it starts first, and shows its log", async () => {
    const client = TEST_CLIENTS.postgresql;
    const uuid = await create("postgresql", { instant_deploy: false });
    await done("POST", `/databases/${uuid}/envs`, { key: "COLOUR", value: "blue" });
    const login = '--username="$POSTGRES_USER" --dbname="$POSTGRES_DB"';
    await done("POST", `/databases/${uuid}/storages`, {
      type: "file",
      mount_path: "/docker-entrypoint-initdb.d/1.sh",
      content: `psql ${login} --command="CREATE TABLE t AS SELECT '$COLOUR'::text AS v"\n`,
    });
    const outcome = await run(uuid, "start");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const { fromInside } = asked(client, await shows(uuid, "running:healthy"));
    expect(await fromInside(client.read)).toEqual([0, "blue"]);
    expect(await done("GET", `/databases/${uuid}/logs?lines=100`)).toMatchObject({
      logs: expect.stringContaining("database system is ready to accept connections"),
    });
  });

  test("whose change cannot run continues as it was, and its deployment says why", async () => {
    const client = TEST_CLIENTS.postgresql;
    const uuid = await create("postgresql");
    const { fromInside } = asked(client, await shows(uuid, "running:healthy"));
    expect(await fromInside((url) => client.write(url, "kept"))).toEqual([0, expect.any(String)]);

    await done("PATCH", `/databases/${uuid}`, { image: "postgres:no-such-tag" });
    const unknown = await run(uuid, "restart");
    expect(unknown).toMatchObject({ status: "failed", error: expect.stringContaining("postgres:no-such-tag") });
    await shows(uuid, "running:healthy");
    expect(await fromInside(client.read)).toEqual([0, "kept"]);

    await done("PATCH", `/databases/${uuid}`, { image: client.image, postgres_conf: "max_connections = many" });
    const broken = await run(uuid, "restart");
    expect(broken, broken.log).toMatchObject({ status: "failed", error: expect.stringContaining("crashed") });
    expect(broken.log).toContain('invalid value for parameter "max_connections": "many"');
    await shows(uuid, "running:healthy");
    expect(await fromInside(client.read)).toEqual([0, "kept"]);

    const login = { postgres_user: "nobody", postgres_password: "changed" };
    await done("PATCH", `/databases/${uuid}`, { postgres_conf: null, ...login });
    expect(await run(uuid, "restart")).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/did not accept its new password.* role "nobody" does not exist/),
    });
    expect(await fromInside(client.read)).toEqual([0, "kept"]);
  });

  test("whose port something else has is reported, and runs", async () => {
    const [public_port = 0] = await freePorts(1);
    const holder = await docker.container({
      image: "nginx:alpine",
      raw: { ExposedPorts: { "80/tcp": {} } },
      hostConfig: { PortBindings: { "80/tcp": [{ HostPort: String(public_port) }] } },
    });
    const uuid = await create("redis", { is_public: true, public_port });
    await shows(uuid, "running:healthy");
    const sentence = `Port ${public_port} of server docker is taken by something else`;
    await until(() => server.output().includes(sentence) || undefined, { seconds: DATABASE_DEADLINE_MS / 1000 });
    await holder.container.remove({ force: true });
  });
});
