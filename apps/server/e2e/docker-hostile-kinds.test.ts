import { readdirSync } from "node:fs";
import { describeLargeDocker } from "@berth/testing";
import { expect, test } from "vitest";
import { dockerServer, execIn } from "./docker.fixture.ts";
import { beyondLimitsHere } from "./hostile.fixture.ts";
import { COMPOSE_PLACES, composeOfTexts, composeText } from "./hostile-compose.fixture.ts";
import { hostileGround, shuffled, someAtOnce } from "./hostile-ground.fixture.ts";
import { endedTask, type TaskRun, tasksOf } from "./hostile-task.fixture.ts";

/** Each place of a compose text meets so many values, and each value the next places. */
const PLACES_EACH = 4;
/** Every how many values one is run. All are sent, and kinds are adjacent in the corpus. */
const RUN_EVERY = 12;
const AT_ONCE = 4;
/** Places that no value gets through: they are for words of the format, or reach out of the container. */
const CLOSED = [
  "a service's name",
  "a volume's option",
  "network_mode",
  "pid",
  "a network's driver",
  "a security option",
  "a capability",
  "privileged",
  "a device",
];

describeLargeDocker("hostile values in services", ["busybox:stable", "caddy:2"], (docker) => {
  const ground = hostileGround(async () => {
    const server = await dockerServer(docker);
    await server.rest("PATCH", `/servers/${server.dockerUuid}`, { concurrent_builds: AT_ONCE });
    const breaches = (known: ReadonlySet<string>) => beyondLimitsHere(docker, known);
    return { server, serverUuid: server.dockerUuid, breaches };
  });
  const { values, texts, markers, tenant, create, created, deployed } = ground;

  test("at each place of a compose text are refused or mere text", async () => {
    const uuid = await created("/services", { docker_compose: composeText("image", "busybox:stable") });
    const places = Object.keys(COMPOSE_PLACES);
    await someAtOnce([...values.entries()], async ([at, value]) => {
      for (let n = 0; n < PLACES_EACH; n += 1) {
        const name = places[(at * PLACES_EACH + n) % places.length] ?? "";
        await tenant().ask("PATCH", `/services/${uuid}`, { docker_compose: composeText(name, value) });
      }
      const text = `services:\n  worker:\n    image: busybox:stable\n    command: ["sleep", "600"]\n    hostname: ${value}\n`;
      await tenant().ask("PATCH", `/services/${uuid}`, { docker_compose: text });
      const urls = [{ name: value, url: `http://${value}` }];
      await tenant().ask("PATCH", `/services/${uuid}`, { urls });
    });
  });

  test("at places of a compose text that take them start it within its limits or fail it", async () => {
    const closed: string[] = [];
    const ended: string[] = [];
    await someAtOnce(
      [...Object.keys(COMPOSE_PLACES).entries()],
      async ([at, name]) => {
        // Another kind of value for each place, and the first that is taken.
        for (const value of shuffled(values, at)) {
          const uuid = await create("/services", { docker_compose: composeText(name, value) });
          if (uuid === undefined) continue;
          ended.push((await deployed(uuid)).status);
          // Volumes are inspected while other tests run.
          await tenant().ask("DELETE", `/services/${uuid}?delete_volumes=false`);
          return;
        }
        closed.push(name);
      },
      AT_ONCE,
    );
    expect(closed.sort()).toEqual(CLOSED.toSorted());
    // Many places are for text that the container alone reads.
    expect(ended.filter((status) => status === "finished").length).toBeGreaterThan(ended.length / 3);
  });

  test("reach a container byte for byte wherever a compose text has room for text", async () => {
    const uuid = await created("/services", { docker_compose: composeOfTexts(texts, markers) });
    const data = texts.map((value, at) => ({ key: `NOTE_${at}`, value }));
    expect((await tenant().ask("PATCH", `/services/${uuid}/envs/bulk`, { data })).status).toBe(201);
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const filters = { label: [`berth.resource=${uuid}`, "berth.role=release"] };
    const [found] = await docker.client.listContainers({ filters });
    const { Config } = await docker.client.getContainer(found?.Id ?? "").inspect();
    expect(Config.Cmd?.slice(3)).toEqual(texts);
    expect(Config.Healthcheck?.Test?.slice(2)).toEqual(texts);
    expect(Config.Labels).toMatchObject(Object.fromEntries(texts.map((value, at) => [`note.${at}`, value])));
    expect(Config.Env).toEqual(expect.arrayContaining(texts.map((value, at) => `TEXT_${at}=${value}`)));
    expect(Config.Env).toEqual(expect.arrayContaining(texts.map((value, at) => `NOTE_${at}=${value}`)));
  });

  test("in storages of a service are refused, or mounted from volumes of its own", async () => {
    const uuid = await created("/services", { docker_compose: composeText("image", "busybox:stable") });
    const { body } = await tenant().ask("GET", `/services/${uuid}`);
    const [container] = body.applications as { uuid: string }[];
    const path = `/services/${uuid}/storages`;
    for (const [at, value] of values.entries()) {
      const add = (storage: object) => tenant().ask("POST", path, { resource_uuid: container?.uuid, ...storage });
      await add({ type: "persistent", name: value, mount_path: `/named/${at}` });
      await add({ type: "persistent", name: `mounted-${at}`, mount_path: `/mounted/${value.slice(0, 100)}` });
      await add({ type: "persistent", name: `host-${at}`, mount_path: `/host/${at}`, host_path: value });
      await add({ type: "file", mount_path: `/content/${at}`, content: value });
      await add({ type: "file", mount_path: `/folder/${at}`, is_directory: true, fs_path: value });
    }
    const outcome = await deployed(uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });

  test("in tasks of a service run in its container and nowhere else", async () => {
    const uuid = await created("/services", { docker_compose: composeOfTexts([], markers) });
    expect(await deployed(uuid)).toMatchObject({ status: "finished" });
    const runs: TaskRun[] = [];
    await someAtOnce([...values.entries()], async ([at, value]) => {
      for (const task of tasksOf(value)) {
        const path = `/services/${uuid}/scheduled-tasks`;
        const { status, body } = await tenant().ask("POST", path, task);
        if (status !== 201) continue;
        if (at % RUN_EVERY === 0) runs.push(...(await endedTask(tenant(), `${path}/${body.uuid}`)));
        await tenant().ask("DELETE", `${path}/${body.uuid}`);
      }
    });
    // A name that is refused, or a container that there is not, makes no task.
    expect(runs.length).toBeGreaterThan(values.length / RUN_EVERY / 2);
    // They do what they were made for where nothing else is harmed.
    expect(await execIn(docker, uuid, ["ls", markers])).toContain("marker");
    expect(readdirSync(markers)).toEqual([]);
  });
});
