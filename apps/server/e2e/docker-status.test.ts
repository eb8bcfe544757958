import { assertTook, describeDocker, type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { deploy, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Limit between a change of a container and its record. */
const LAG_MS_MAX = 5000;
/** Serves until it is told to crash for ever. */
const DOCKERFILE = [
  "FROM busybox:stable",
  "RUN mkdir /www && echo up >/www/index.html",
  'CMD ["sh", "-c", "test ! -e /crash && exec httpd -f -p 80 -h /www"]',
  "",
].join("\n");

describeDocker("what somebody else does to a container", ["busybox:stable", "caddy:2"], (docker) => {
  let database: TestDatabase;
  let server: DockerServer;
  let uuid: string;
  /** The newest event before what a test does. */
  let cursor = 0;

  beforeAll(async () => {
    database = await testDatabase({ backend: "tcp" });
    server = await dockerServer(docker, { env: { BERTH_DATABASE_URL: database.url } });
    const { status, body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      dockerfile: DOCKERFILE,
      ports_exposes: "80",
    });
    expect(status, JSON.stringify(body)).toBe(201);
    uuid = (body as { uuid: string }).uuid;
    const outcome = await deploy(server, uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    await server?.dispose();
    await database?.close();
  });
  beforeEach(async () => {
    await until(async () => (await read()).status === "running:healthy");
    cursor = (await events()).at(-1)?.id ?? cursor;
  });

  const read = async () =>
    (await server.rest("GET", `/applications/${uuid}`)).body as { status: string; restart_count: number };

  async function events() {
    const all = await database.stores().events.list({ after: cursor });
    return all.filter(({ resource_uuid }) => resource_uuid === uuid);
  }
  const statuses = async () =>
    (await events()).flatMap(({ id, type, payload, created_at }) =>
      type === "resource.status_changed" ? [{ id, status: String(payload.status), at: created_at.getTime() }] : [],
    );

  /** Waits for the record, and compares the recorded times, since this machine is shared with other tests. */
  async function toldWithin(since: number, isWanted: (status: string) => boolean): Promise<string> {
    const told = await until(async () => (await statuses()).find(({ status }) => isWanted(status)));
    await assertTook(told.at - since, LAG_MS_MAX, told.status);
    cursor = told.id;
    return told.status;
  }
  const isDown = (status: string) => !status.startsWith("running");
  const isHealthy = (status: string) => status === "running:healthy";

  /** The container of the live release. Replaced ones are kept stopped. */
  async function container() {
    const filters = { label: [`berth.resource=${uuid}`, "berth.role=release"] };
    const all = await docker.client.listContainers({ all: true, filters });
    expect(all).toHaveLength(1);
    return await docker.client.getContainer(all[0]?.Id ?? "").inspect();
  }
  const handle = async () => docker.client.getContainer((await container()).Id);

  /** @returns When it was started the next time after `before`. */
  const startedAgain = (before: string): Promise<number> =>
    until(async () => {
      const now = await container().catch(() => undefined);
      return now?.State.Running && now.State.StartedAt !== before ? Date.parse(now.State.StartedAt) : undefined;
    });

  test("is told when one is killed, and that it is back", async () => {
    const { State } = await container();
    await (await handle()).kill();
    const since = Date.now();
    expect(await toldWithin(since, isDown)).toBe("exited:unhealthy");
    const back = await startedAgain(State.StartedAt);
    await assertTook(back - since, LAG_MS_MAX);
    await toldWithin(back, isHealthy);
  });

  test("is told when one ends by itself: the engine starts it again, and that is counted", async () => {
    const { State } = await container();
    const { restart_count: before } = await read();
    const exec = await (await handle()).exec({ Cmd: ["killall", "-9", "httpd"] });
    await exec.start({});
    const since = await startedAgain(State.StartedAt);
    await until(async () => (await read()).restart_count === before + 1);
    await assertTook(Date.now() - since, LAG_MS_MAX);
    await until(async () => isHealthy((await read()).status));
    await assertTook(Date.now() - since, LAG_MS_MAX);
  });

  test("is true again when one was restarted", async () => {
    const { Id, State } = await container();
    await (await handle()).restart({ t: 0 });
    const since = await startedAgain(State.StartedAt);
    await until(async () => isHealthy((await read()).status));
    await assertTook(Date.now() - since, LAG_MS_MAX);
    expect((await container()).Id).toBe(Id);
    expect((await events()).filter(({ type }) => type === "resource.drifted")).toEqual([]);
  });

  test("shows when one is paused and when it resumes", async () => {
    const paused = await handle();
    await paused.pause();
    expect(await toldWithin(Date.now(), isDown)).toBe("paused:unknown");
    await paused.unpause();
    await toldWithin(Date.now(), isHealthy);
  });

  test("is told as drift when one is removed, and healed", async () => {
    const { Id, State } = await container();
    await (await handle()).remove({ force: true });
    const since = Date.now();
    const from = cursor;
    await toldWithin(since, isDown);
    const back = await startedAgain(State.StartedAt);
    await assertTook(back - since, LAG_MS_MAX);
    await toldWithin(back, isHealthy);
    expect((await container()).Id).not.toBe(Id);
    cursor = from;
    const drifts = (await events()).filter(({ type }) => type === "resource.drifted");
    expect(drifts.map(({ payload }) => payload.drift)).toEqual(["release_missing"]);
    await assertTook((drifts[0]?.created_at.getTime() ?? Number.NaN) - since, LAG_MS_MAX);
  });

  test("changes nothing when one is renamed, and it is looked after as before", async () => {
    const { Id, State } = await container();
    await (await handle()).rename({ name: docker.name("renamed") });
    await (await handle()).kill();
    await toldWithin(Date.now(), isDown);
    await toldWithin(await startedAgain(State.StartedAt), isHealthy);
    expect((await container()).Id).toBe(Id);
    expect((await events()).filter(({ type }) => type === "resource.drifted")).toEqual([]);
  });

  test("is seen as a loop when one cannot stay up, and healed when what makes it crash is gone", async () => {
    const looping = await handle();
    const exec = await looping.exec({ Cmd: ["sh", "-c", "touch /crash && killall -9 httpd"] });
    await exec.start({});
    const status = await toldWithin(Date.now(), (one) => /^(restarting|degraded)/.test(one));
    expect(["restarting:unknown", "degraded:unhealthy"]).toContain(status);
    await until(async () => (await read()).restart_count > 2);
    const { State } = await container();
    await looping.remove({ force: true });
    await toldWithin(await startedAgain(State.StartedAt), isHealthy);
    expect((await read()).restart_count).toBe(0);
  });
});
