import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { type EngineObject, engineObjectsOf, isOf, sorted } from "./engine-objects.fixture.ts";

const FLAGS = ["delete_volumes", "delete_connected_networks", "delete_configurations", "docker_cleanup"] as const;
type Flags = Readonly<Record<(typeof FLAGS)[number], boolean>>;
/** All combinations of the flags that matter, half of them with the flag that does not. */
const COMBINATIONS = Array.from({ length: 2 ** (FLAGS.length - 1) }, (_, bits): Flags => {
  const isSet = (at: number) => ((bits >> at) & 1) === 1;
  return {
    delete_volumes: isSet(0),
    delete_connected_networks: isSet(1),
    docker_cleanup: isSet(2),
    delete_configurations: isSet(0) !== isSet(2),
  };
});
const DOCKERFILE = [
  "FROM busybox:stable",
  "RUN mkdir /www && echo ok >/www/index.html",
  'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
  "",
].join("\n");

const COMPOSE = `services:
  web:
    image: busybox:stable
    command: ["sleep", "600"]
    init: true
    volumes: ["data:/data"]
volumes: { data: }
`;

describeDocker("the deletion of an application", ["busybox:stable", "caddy:2"], (docker) => {
  const { client } = docker;
  const things = () => engineObjectsOf(docker);
  let server: DockerServer;
  /** An application for each combination, and one that stays. */
  const uuids: string[] = [];

  beforeAll(async () => {
    server = await dockerServer(docker);
    for (let made = 0; made <= COMBINATIONS.length; made += 1) uuids.push(await createApplication());
    await Promise.all(
      uuids.map(async (uuid) => {
        const outcome = await deploy(server, uuid);
        expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      }),
    );
    // The first one has several objects, since its replaced release is kept for a rollback.
    const again = await deploy(server, uuids[0] ?? "");
    await until(
      async () => {
        const { body } = await server.rest("GET", `/deployments/${again.uuid}/steps`);
        return (body as Outcome["steps"]).every(({ status }) => status === "done");
      },
      { seconds: 60 },
    );
    await makeForeign(uuids[0] ?? "");
  });
  afterAll(() => server?.dispose());

  async function createApplication(): Promise<string> {
    const { status, body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      dockerfile: DOCKERFILE,
      ports_exposes: "80",
    });
    expect(status, JSON.stringify(body)).toBe(201);
    const { uuid } = body as { uuid: string };
    for (const storage of [
      { type: "persistent", name: "data", mount_path: "/data" },
      { type: "file", mount_path: "/etc/app.conf", content: "x" },
    ]) {
      expect((await server.rest("POST", `/applications/${uuid}/storages`, storage)).status).toBe(201);
    }
    return uuid;
  }

  /** Creates objects that only look like an application's. */
  async function makeForeign(uuid: string): Promise<void> {
    const labels = { "berth.managed": "true", "berth.instance": "another", "berth.resource": uuid };
    await docker.container({
      image: "busybox:stable",
      name: docker.name(uuid),
      argv: ["sleep", "600"],
      labels: { ...labels, "berth.role": "release", "berth.deployment": "another" },
    });
    await client.createVolume({ Name: docker.name(`berth-${uuid}`), Labels: { ...labels, ...docker.labels } });
    await client.createVolume({ Name: docker.name("data"), Labels: { ...docker.labels } });
    const busybox = client.getImage("busybox:stable");
    await busybox.tag({ repo: `${docker.run}/${uuid}`, tag: "latest" });
  }
  afterAll(async () => {
    await client
      .getImage(`${docker.run}/${uuids[0]}:latest`)
      .remove()
      .catch(() => undefined);
  });

  test.each(COMBINATIONS.map((flags, at) => [namesOf(flags), flags, at] as const))(
    "takes what it is asked to take and touches nothing else: %s",
    async (_names, flags, at) => {
      const uuid = uuids[at] ?? "";
      const before = await things();
      const own = before.filter(isOf(uuid));
      expect(new Set(own.map(({ what }) => what))).toEqual(new Set(["container", "volume", "image"]));

      // Clients send flags in the query or in the body.
      const isInBody = at % 2 === 1;
      const query = FLAGS.map((flag) => `${flag}=${flags[flag]}`).join("&");
      const path = `/applications/${uuid}`;
      const answer = isInBody
        ? await server.rest("DELETE", path, flags)
        : await server.rest("DELETE", `${path}?${query}`);
      expect(answer.status).toBe(200);
      await until(async () => (await server.rest("GET", path)).status === 404, { seconds: 60 });

      const stays = (thing: EngineObject) => !isOf(uuid)(thing) || isKept(flags, thing);
      expect(sorted(await things())).toEqual(sorted(before.filter(stays)));
    },
  );

  test("takes all when no flag is sent", async () => {
    const uuid = uuids.at(-1) ?? "";
    const before = await things();
    expect((await server.rest("DELETE", `/applications/${uuid}`)).status).toBe(200);
    await until(async () => (await server.rest("GET", `/applications/${uuid}`)).status === 404, { seconds: 60 });
    expect(sorted(await things())).toEqual(sorted(before.filter((thing) => !isOf(uuid)(thing))));
  });
});

/** One of them alone, and none at all. */
const SINGLE_FLAGS = [
  ...(["delete_volumes", "delete_connected_networks", "docker_cleanup"] as const),
  "delete_configurations",
  undefined,
] as const;
const OTHER_KINDS = [
  {
    what: "a database",
    path: "/databases/redis",
    fields: { image: "redis:8-alpine", health_check_interval: 1 },
    has: ["image", "volume"],
  },
  { what: "a service", path: "/services", fields: { docker_compose: COMPOSE }, has: ["image", "network", "volume"] },
] as const;

describeDocker("the deletion of", ["busybox:stable", "redis:8-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  const made: string[] = [];
  const things = () => engineObjectsOf(docker, made);
  beforeAll(async () => {
    server = await dockerServer(docker);
  });
  afterAll(async () => {
    await server?.dispose();
    // Pulled images have no labels.
    const names = (await things()).flatMap(({ what, id }) => (what === "image" && id.startsWith("berth/") ? id : []));
    await Promise.all(names.map((name) => docker.client.getImage(name).remove()));
  });

  async function running(path: string, fields: object): Promise<string> {
    const place = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const created = await server.rest("POST", path, { ...place, ...fields });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const { uuid } = created.body as { uuid: string };
    made.push(uuid);
    const own = `/${path.split("/")[1]}/${uuid}`;
    expect((await server.rest("POST", `${own}/start`)).status).toBe(200);
    await until(
      async () => {
        const { status } = (await server.rest("GET", own)).body as { status: string };
        return status.startsWith("running");
      },
      { seconds: 120 },
    );
    return uuid;
  }

  test.each(OTHER_KINDS)("$what takes what it is asked to take and touches nothing else", async (kind) => {
    const uuids = await Promise.all([...SINGLE_FLAGS, "all"].map(() => running(kind.path, kind.fields)));
    let before = await things();
    for (const [at, only] of [...SINGLE_FLAGS, "all"].entries()) {
      const uuid = uuids[at] ?? "";
      const own = before.filter(isOf(uuid));
      expect([...new Set(own.map(({ what }) => what))].sort()).toEqual(["container", ...kind.has]);
      const all = only === "all";
      // The names are those of the table.
      const flags = Object.fromEntries(FLAGS.map((flag) => [flag, all || flag === only])) as Flags;
      const path = `/${kind.path.split("/")[1]}/${uuid}`;
      // By default everything is deleted.
      expect((await server.rest("DELETE", path, all ? undefined : flags)).status).toBe(200);
      await until(async () => (await server.rest("GET", path)).status === 404, { seconds: 60 });
      const after = await things();
      const stays = (thing: EngineObject) => !isOf(uuid)(thing) || isKept(flags, thing);
      expect(sorted(after), `${only} alone`).toEqual(sorted(before.filter(stays)));
      before = after;
    }
  });
});

const FLAG_OF = { volume: "delete_volumes", network: "delete_connected_networks", image: "docker_cleanup" } as const;
const isKept = (flags: Flags, { what }: EngineObject): boolean => what !== "container" && !flags[FLAG_OF[what]];

const namesOf = (flags: Flags): string => FLAGS.filter((flag) => flags[flag]).join(", ") || "nothing but itself";
