import { describeLargeDocker, type S3Server, startS3Server } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerServer, execIn } from "./docker.fixture.ts";
import { beyondLimitsHere, type Json } from "./hostile.fixture.ts";
import {
  backupCalls,
  HOSTILE_ENGINES,
  hostileScript,
  keptNotes,
  notesArgv,
  QUICK_START,
} from "./hostile-database.fixture.ts";
import { hostileGround, shuffled, someAtOnce } from "./hostile-ground.fixture.ts";

const IMAGES = [...Object.values(HOSTILE_ENGINES).map(({ client }) => client.image), "caddy:2"];
const AT_ONCE = 4;
/** Names of scripts. Images may treat other texts as they like. */
const SCRIPTS = ["notes.sql", "notes.sh"];

describeLargeDocker("hostile values in databases and backups", IMAGES, (docker) => {
  let s3: S3Server;
  beforeAll(async () => {
    s3 = await startS3Server();
  });
  afterAll(() => s3?.close());
  const ground = hostileGround(async () => {
    const server = await dockerServer(docker, { env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    await server.rest("PATCH", `/servers/${server.dockerUuid}`, { concurrent_builds: AT_ONCE });
    const breaches = (known: ReadonlySet<string>) => beyondLimitsHere(docker, known);
    return { server, serverUuid: server.dockerUuid, breaches };
  });
  const { values, texts, tenant, created, deployed } = ground;

  /** The first of the values that a field takes, beginning at another kind for each number. */
  async function firstTaken(path: string, field: string, number: number): Promise<string> {
    for (const value of shuffled(values, number)) {
      if ((await tenant().ask("PATCH", path, { [field]: value })).status === 200) return value;
    }
    throw new Error(`No value is taken as ${field}.`);
  }

  test("in every field of a database are refused or mere text", async () => {
    const fields = await tenant().textFields("/databases/{uuid}");
    expect(fields.length).toBeGreaterThan(20);
    const uuid = await created("/databases/postgresql", {});
    const path = `/databases/${uuid}`;
    await someAtOnce(values, async (value) => {
      await tenant().patchWhatIsTaken(path, Object.fromEntries(fields.map((name) => [name, value])));
      await tenant().ask("PATCH", path, { init_scripts: [{ filename: `${value}.sql`, content: value }] });
    });
  });

  test("are passwords that clients log in with, or refused", async () => {
    await someAtOnce(
      [...Object.entries(HOSTILE_ENGINES).entries()],
      async ([at, [engine, { client, passwords }]]) => {
        const uuid = await created(`/databases/${engine}`, { image: client.image, ...QUICK_START });
        const path = `/databases/${uuid}`;
        for (const [n, field] of passwords.entries()) await firstTaken(path, field, at + n);
        // Where it is mounted is a text that only the container's files know.
        for (const [n, value] of values.entries()) {
          const storage = { type: "persistent", name: `mounted-${n}`, mount_path: `/mounted/${value.slice(0, 100)}` };
          if (engine === "redis") await tenant().ask("POST", `${path}/storages`, storage);
        }
        const outcome = await deployed(uuid);
        expect(outcome, outcome.log).toMatchObject({ status: "finished" });
        const url = String((await tenant().ask("GET", path)).body.internal_db_url);
        await execIn(docker, uuid, client.write(url, "written"));
        expect(await execIn(docker, uuid, client.read(url))).toBe("written");
        await tenant().ask("DELETE", `${path}?delete_volumes=false`);
      },
      AT_ONCE,
    );
  });

  test("in configurations, arguments and scripts of databases start them or fail them", async () => {
    const fields = Object.entries(HOSTILE_ENGINES).flatMap(([engine, { client, others }]) =>
      others.map((field) => ({ engine, image: client.image, field })),
    );
    await someAtOnce(
      [...fields.entries()],
      async ([at, { engine, image, field }]) => {
        const uuid = await created(`/databases/${engine}`, { image, ...QUICK_START, health_check_retries: 15 });
        const path = `/databases/${uuid}`;
        const value = await firstTaken(path, field, at);
        if (engine !== "redis") {
          const init_scripts = SCRIPTS.map((filename) => ({ filename, content: value }));
          expect((await tenant().ask("PATCH", path, { init_scripts })).status).toBe(200);
        }
        await deployed(uuid);
        await tenant().ask("DELETE", `${path}?delete_volumes=false`);
      },
      AT_ONCE,
    );
  });

  describe("in a database that keeps them", () => {
    let uuid: string;
    let path: string;
    const notes = async () => {
      const url = String((await tenant().ask("GET", path)).body.internal_db_url);
      return JSON.parse(await execIn(docker, uuid, notesArgv(url))) as Json;
    };

    beforeAll(async () => {
      const init_scripts = [{ filename: "notes.sql", content: hostileScript(texts) }];
      const { image } = HOSTILE_ENGINES.postgresql.client;
      uuid = await created("/databases/postgresql", { image, ...QUICK_START, postgres_db: "shop", init_scripts });
      path = `/databases/${uuid}`;
      await firstTaken(path, "postgres_password", 2);
      const data = texts.map((value, at) => ({ key: `NOTE_${at}`, value }));
      expect((await tenant().ask("PATCH", `${path}/envs/bulk`, { data })).status).toBe(201);
      for (const [at, value] of values.entries()) {
        const add = (storage: Json) => tenant().ask("POST", `${path}/storages`, storage);
        await add({ type: "persistent", name: value, mount_path: `/named/${at}` });
        await add({ type: "persistent", name: `host-${at}`, mount_path: `/host/${at}`, host_path: value });
        await add({ type: "file", mount_path: `/content/${at}`, content: value });
        await add({ type: "file", mount_path: `/folder/${at}`, is_directory: true, fs_path: value });
      }
      const outcome = await deployed(uuid);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    });

    test("they are rows, tables, variables and files as they were sent", async () => {
      expect(await notes()).toEqual(keptNotes(texts));
      const [found] = await docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`] } });
      const { Config } = await docker.client.getContainer(found?.Id ?? "").inspect();
      expect(Config.Env).toEqual(expect.arrayContaining(texts.map((value, at) => `NOTE_${at}=${value}`)));
    });

    test.each([
      ["one database", {}, ["drill", "restore"]],
      ["all databases", { dump_all: true }, ["drill", "restore"]],
    ] as const)("a backup of %s brings them back", async (_what, settings, kinds) => {
      const { run, restore } = backupCalls(tenant, path);
      const backup = await run(settings);
      expect(backup).toMatchObject({ status: "success", message: null });
      const url = String((await tenant().ask("GET", path)).body.internal_db_url);
      await execIn(docker, uuid, ["psql", url, "--command=UPDATE notes SET what = 'lost'"]);
      for (const kind of kinds) {
        expect(await restore(backup?.at ?? "", kind)).toMatchObject({ status: "success", message: null });
      }
      expect(await notes()).toEqual(keptNotes(texts));
    });

    test("in buckets, names and targets of backups are refused, or fail them", async () => {
      const { run } = backupCalls(tenant, path);
      const backup = await run({});
      const { endpoint, bucket, key, secret } = s3;
      const login = { name: "Far away", region: "eu", endpoint, bucket, key, secret };
      const names: string[] = [];
      await someAtOnce(values, async (value) => {
        const named = { frequency: "yearly", databases_to_backup: value };
        if ((await tenant().ask("POST", `${path}/backups`, named)).status === 201) names.push(value);
        await tenant().ask("POST", `${path}/backups`, { frequency: value });
        await tenant().ask("POST", `${path}/backups`, { frequency: "yearly", s3_storage_uuid: value });
        for (const target of [{ target_database_uuid: value }, { database_name: value }]) {
          expect((await tenant().ask("POST", `${backup?.at}/restore`, target)).status).toBeGreaterThanOrEqual(400);
        }
        await tenant().ask("POST", "/s3-storages", { ...login, bucket: value });
      });
      expect(names).toEqual([]);
      const ended = new Map<string, string>();
      await someAtOnce(["name", "region", "endpoint", "key", "secret"], async (field) => {
        for (const value of shuffled(values, field.length)) {
          const sent = field === "endpoint" ? `${endpoint}/${value}` : value;
          const { status, body } = await tenant().ask("POST", "/s3-storages", { ...login, [field]: sent });
          if (status !== 201) continue;
          const sentAway = await run({ s3_storage_uuid: body.uuid, save_s3: true });
          ended.set(field, sentAway?.status ?? "refused");
          return;
        }
      });
      const failed = { region: "failed", endpoint: "failed", key: "failed", secret: "failed" };
      expect(Object.fromEntries(ended)).toEqual({ name: "success", ...failed });
    });
  });
});
