import { readdirSync } from "node:fs";
import { describeLargeDocker, SERVER_IMAGE, type ServerContainer, startServerContainer } from "@berth/testing";
import { expect, test } from "vitest";
import { BUILD_FIELDS, beyondLimits, FAILING_FIELDS, type Json, tenantOf } from "./hostile.fixture.ts";
import { COMPOSE_PLACES, composeOfTexts, composeText } from "./hostile-compose.fixture.ts";
import {
  backupCalls,
  HOSTILE_ENGINES,
  hostileScript,
  keptNotes,
  notesArgv,
  QUICK_START,
} from "./hostile-database.fixture.ts";
import { hostileGround, shuffled } from "./hostile-ground.fixture.ts";
import { endedTask, tasksOf } from "./hostile-task.fixture.ts";
import { dockerfile } from "./placed-resource.fixture.ts";
import { sshServer } from "./seen-server.fixture.ts";
import { testServer } from "./server.fixture.ts";

/** Fields that reach a build or an engine. */
const DEPLOYED_FIELDS = [
  "start_command",
  "custom_docker_run_options",
  "health_check_command",
  "dockerfile_target_build",
];
/**
 * Every how many values one is sent and run; kinds are adjacent in the corpus. `docker-hostile` sends all of them: what
 * is accepted does not depend on where the server is.
 */
const DEPLOYED_EVERY = 32;
/** Every how many places of a compose file one is run. */
const PLACES_EVERY = 8;
const TASKS_EVERY = 16;
const WORKERS = 2;
const QUICK_CHECK = {
  health_check_enabled: true,
  health_check_interval: 1,
  health_check_retries: 2,
  health_check_start_period: 1,
};

const IMAGES = [SERVER_IMAGE, HOSTILE_ENGINES.postgresql.client.image, "busybox:stable", "caddy:2"];

describeLargeDocker("hostile values on a server over SSH", IMAGES, (docker) => {
  let machine: ServerContainer;
  const withRights = new Set<string>();
  const ground = hostileGround(async (markers) => {
    const [server, started] = await Promise.all([testServer(), startServerContainer(docker)]);
    machine = started;
    // The same path on both machines, and everybody may write to it.
    expect(await machine.exec(["mkdir", "-p", "-m", "777", markers])).toMatchObject({ exitCode: 0 });
    const serverUuid = await sshServer(server, machine, "web-1");
    return {
      server,
      serverUuid,
      async breaches(known) {
        expect(await machine.exec(["ls", "-A", markers])).toMatchObject({ exitCode: 0, output: "" });
        return await beyondLimits(
          { client: machine.client, isOwnNetwork: (name) => name === "berth", withRights },
          known,
        );
      },
    };
  });
  const { values, texts, markers, server, tenant, created, deployed } = ground;

  const create = (settings: Json = {}) =>
    created("/applications/dockerfile", {
      ...{ dockerfile: dockerfile("ok"), ports_exposes: "80" },
      ...QUICK_CHECK,
      ...settings,
    });
  /** Container of the running release. */
  const containerOf = async (uuid: string): Promise<string> => {
    const filter = ["--filter", `label=berth.resource=${uuid}`, "--filter", "label=berth.role=release"];
    return (await machine.exec(["docker", "ps", "-q", ...filter])).output.trim();
  };
  const inspected = async (uuid: string, what: string): Promise<unknown> => {
    const argv = ["docker", "inspect", "--format", `{{json ${what}}}`, await containerOf(uuid)];
    return JSON.parse((await machine.exec(argv)).output);
  };

  test("in every field of an application are refused or mere text", async () => {
    const fields = await tenant().textFields("/applications/{uuid}");
    const isHarmless = (name: string) => !BUILD_FIELDS.includes(name) && !FAILING_FIELDS.includes(name);
    const finished: string[] = [];
    const deployedValues = [...values.entries()].filter(([at]) => at % DEPLOYED_EVERY === 0);
    const left = [...deployedValues];
    const work = async () => {
      const uuid = await create();
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        const [at, value] = item;
        const wanted = fields.filter(isHarmless).map((name) => [name, value] as const);
        await tenant().patchWhatIsTaken(`/applications/${uuid}`, Object.fromEntries(wanted));
        await tenant().patchWhatIsTaken(`/applications/${uuid}`, { domains: `http://web-${at}.example.test/${value}` });
        if ((await deployed(uuid)).status === "finished") finished.push(value);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    expect(finished.length).toBeGreaterThan(deployedValues.length * 0.5);
  });

  test("in what shapes a build and a start do no more than fail them", async () => {
    for (const [index, field] of DEPLOYED_FIELDS.entries()) {
      const uuid = await create(field === "health_check_command" ? { health_check_type: "cmd" } : {});
      if (field === "custom_docker_run_options") withRights.add(uuid);
      // Another kind of value in each field.
      for (const value of shuffled(values, index)) {
        if ((await tenant().ask("PATCH", `/applications/${uuid}`, { [field]: value })).status !== 200) continue;
        await deployed(uuid);
        break;
      }
    }
  });

  test("reach a build and a container as variables byte for byte", async () => {
    const uuid = await create();
    const expected: string[] = [];
    for (const [at, value] of values.entries()) {
      const key = `HOSTILE_${at}`;
      const { status } = await tenant().ask("POST", `/applications/${uuid}/envs`, { key, value });
      if (status === 201) expected.push(`${key}=${value}`);
    }
    expect(expected.length).toBeGreaterThan(values.length * 0.8);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await inspected(uuid, ".Config.Env")).toEqual(expect.arrayContaining(expected));
  });

  test("in storages are refused, or names of volumes and folders", async () => {
    // Folders of the server are for root alone, and are made on it where they are missing.
    const root = await tenantOf(server(), ["root"]);
    const [first, second] = [await create(), await create()];
    withRights.add(first);
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
  });

  test("in the fields of a server are refused or mere text", async () => {
    const root = await tenantOf(server(), ["root"]);
    const { body: keys } = await server().rest("GET", "/security/keys");
    const private_key_uuid = (keys as { uuid: string }[])[0]?.uuid;
    const fields = { name: "hostile", ip: "127.0.0.1", port: 1, user: "root", private_key_uuid };
    for (const [at, value] of values.entries()) {
      for (const name of ["name", "ip", "user"]) {
        const wanted = { ...fields, [name]: value, instant_validate: at % DEPLOYED_EVERY === 0 };
        const { status, body } = await root.ask("POST", "/servers", wanted);
        if (status === 201) await root.ask("DELETE", `/servers/${body.uuid}`);
      }
    }
  });

  test("at places of a compose text start it within its limits or fail it", async () => {
    for (const [at, name] of Object.keys(COMPOSE_PLACES).entries()) {
      if (at % PLACES_EVERY !== 0) continue;
      for (const value of shuffled(values, at)) {
        const uuid = await ground.create("/services", { docker_compose: composeText(name, value) });
        if (uuid === undefined) continue;
        await deployed(uuid);
        await tenant().ask("DELETE", `/services/${uuid}?delete_volumes=false`);
        break;
      }
    }
  });

  test("reach a service byte for byte, and run in its container as tasks", async () => {
    const uuid = await created("/services", { docker_compose: composeOfTexts(texts, markers) });
    const data = texts.map((value, at) => ({ key: `NOTE_${at}`, value }));
    expect((await tenant().ask("PATCH", `/services/${uuid}/envs/bulk`, { data })).status).toBe(201);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const { Cmd, Env, Labels } = (await inspected(uuid, ".Config")) as Record<"Cmd" | "Env" | "Labels", string[]>;
    expect(Cmd.slice(3)).toEqual(texts);
    expect(Labels).toMatchObject(Object.fromEntries(texts.map((value, at) => [`note.${at}`, value])));
    for (const name of ["TEXT", "NOTE"]) {
      expect(Env).toEqual(expect.arrayContaining(texts.map((value, at) => `${name}_${at}=${value}`)));
    }

    for (const [at, value] of values.entries()) {
      if (at % TASKS_EVERY !== 0) continue;
      for (const task of tasksOf(value)) {
        const { status, body } = await tenant().ask("POST", `/services/${uuid}/scheduled-tasks`, task);
        if (status === 201) await endedTask(tenant(), `/services/${uuid}/scheduled-tasks/${body.uuid}`);
      }
    }
    const { output } = await machine.exec(["docker", "exec", await containerOf(uuid), "ls", markers]);
    expect(output).toContain("marker");
    expect(readdirSync(markers)).toEqual([]);
  });

  test("are kept by a database, and brought back by its backups", async () => {
    const { image } = HOSTILE_ENGINES.postgresql.client;
    await machine.loadImages(image);
    const init_scripts = [{ filename: "notes.sql", content: hostileScript(texts) }];
    const uuid = await created("/databases/postgresql", { image, ...QUICK_START, init_scripts });
    const path = `/databases/${uuid}`;
    for (const value of shuffled(values, 3)) {
      if ((await tenant().ask("PATCH", path, { postgres_password: value })).status === 200) break;
    }
    for (const [at, value] of values.entries()) {
      await tenant().ask("POST", `${path}/storages`, { type: "persistent", name: value, mount_path: `/named/${at}` });
      await tenant().ask("POST", `${path}/storages`, { type: "file", mount_path: `/content/${at}`, content: value });
    }
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });

    const url = String((await tenant().ask("GET", path)).body.internal_db_url);
    const client = async (argv: readonly string[]) =>
      (await machine.exec(["docker", "exec", await containerOf(uuid), ...argv])).output;
    expect(JSON.parse(await client(notesArgv(url)))).toEqual(keptNotes(texts));
    const { run, restore } = backupCalls(tenant, path);
    const backup = await run({ dump_all: true });
    expect(backup).toMatchObject({ status: "success", message: null });
    await client(["psql", url, "--command=UPDATE notes SET what = 'lost'"]);
    expect(await restore(backup?.at ?? "", "restore")).toMatchObject({ status: "success", message: null });
    expect(JSON.parse(await client(notesArgv(url)))).toEqual(keptNotes(texts));
  });
});
