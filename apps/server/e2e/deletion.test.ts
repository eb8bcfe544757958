import { type DockerFixture, describeDocker } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deploy, type Outcome, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { until } from "./server.fixture.ts";

const FLAGS = ["delete_volumes", "delete_connected_networks", "delete_configurations", "docker_cleanup"] as const;
type Flags = Readonly<Record<(typeof FLAGS)[number], boolean>>;
/** Each combination of all of them. */
const COMBINATIONS = Array.from(
  { length: 2 ** FLAGS.length },
  // The names are those of the table.
  (_, bits) => Object.fromEntries(FLAGS.map((flag, at) => [flag, ((bits >> at) & 1) === 1])) as Flags,
);
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

interface Thing {
  readonly what: "container" | "volume" | "network" | "image";
  readonly id: string;
  /** What would be different if somebody had touched it. */
  readonly state: unknown;
  readonly resource: string | undefined;
}

describeDocker("the deletion of an application", ["busybox:stable", "caddy:2"], (docker) => {
  const { client } = docker;
  const things = () => thingsOf(docker);
  let server: DockerServer;
  /** One for each combination, and one that nobody deletes. */
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
    // The first has more than one of what a deployment makes: what it replaced is kept for a rollback.
    const again = await deploy(server, uuids[0] ?? "");
    await until(async () => {
      const { body } = await server.rest("GET", `/deployments/${again.uuid}/steps`);
      return (body as Outcome["steps"]).every(({ status }) => status === "done");
    }, 60_000);
    await makeForeign(uuids[0] ?? "");
  }, 240_000);
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

  /** What looks as if it belonged to an application, and does not. */
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

      // Clients send the flags in either way.
      const isInBody = at % 2 === 1;
      const query = FLAGS.map((flag) => `${flag}=${flags[flag]}`).join("&");
      const path = `/applications/${uuid}`;
      const answer = isInBody
        ? await server.rest("DELETE", path, flags)
        : await server.rest("DELETE", `${path}?${query}`);
      expect(answer.status).toBe(200);
      await until(async () => (await server.rest("GET", path)).status === 404, 60_000);

      const stays = (thing: Thing) => !isOf(uuid)(thing) || (thing.what === "volume" && !flags.delete_volumes);
      expect(sorted(await things())).toEqual(sorted(before.filter(stays)));
    },
    90_000,
  );

  test("takes all when no flag is sent", async () => {
    const uuid = uuids.at(-1) ?? "";
    const before = await things();
    expect((await server.rest("DELETE", `/applications/${uuid}`)).status).toBe(200);
    await until(async () => (await server.rest("GET", `/applications/${uuid}`)).status === 404, 60_000);
    expect(sorted(await things())).toEqual(sorted(before.filter((thing) => !isOf(uuid)(thing))));
  }, 90_000);
});

const OTHER_KINDS = [
  ["a database", "databases", "/databases/redis", { image: "redis:8-alpine", health_check_interval: 1 }],
  ["a service", "services", "/services", { docker_compose: COMPOSE }],
] as const;

describeDocker("the deletion of", ["busybox:stable", "redis:8-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  const things = () => thingsOf(docker);
  beforeAll(async () => {
    server = await dockerServer(docker);
  }, 120_000);
  afterAll(() => server?.dispose());

  test.each(
    OTHER_KINDS.flatMap(([what, ...kind]) => [
      [`${what} with its volumes`, true, ...kind] as const,
      [`${what} without its volumes`, false, ...kind] as const,
    ]),
  )(
    "%s takes that and touches nothing else",
    async (_what, delete_volumes, kind, path, fields) => {
      const place = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
      const before = await things();
      const created = await server.rest("POST", path, { ...place, ...fields });
      expect(created.status, JSON.stringify(created.body)).toBe(201);
      const { uuid } = created.body as { uuid: string };
      const own = `/${kind}/${uuid}`;
      expect((await server.rest("POST", `${own}/start`)).status).toBe(200);
      await until(async () => {
        const { status } = (await server.rest("GET", own)).body as { status: string };
        return status.startsWith("running");
      }, 60_000);
      const volumes = (await things()).filter((thing) => isOf(uuid)(thing) && thing.what === "volume");
      expect(volumes).toHaveLength(1);
      expect((await server.rest("DELETE", `${own}?delete_volumes=${delete_volumes}`)).status).toBe(200);
      await until(async () => (await server.rest("GET", own)).status === 404, 60_000);
      // The network that all share is made with the first.
      const isNew = ({ what, resource }: Thing) => what !== "network" || resource !== undefined;
      const after = (await things()).filter((thing) => before.some(({ id }) => id === thing.id) || isNew(thing));
      expect(sorted(after)).toEqual(sorted([...before, ...(delete_volumes ? [] : volumes)]));
    },
    120_000,
  );
});

const namesOf = (flags: Flags): string => FLAGS.filter((flag) => flags[flag]).join(", ") || "nothing but itself";

/** All of the instance's, and what this test made itself; others work with this engine at the same time. */
async function thingsOf(docker: DockerFixture): Promise<readonly Thing[]> {
  const own = [`berth.instance=${docker.instance}`];
  const foreign = Object.entries(docker.labels).map(([key, value]) => `${key}=${value}`);
  const found = await Promise.all([own, foreign].map((label) => thingsWith(docker, { label })));
  const tagged = await docker.client.listImages({ filters: { reference: [`${docker.run}/*`] } });
  return [
    ...found.flat(),
    ...tagged.map(({ Id }): Thing => ({ what: "image", id: Id, state: "tagged", resource: undefined })),
  ];
}

async function thingsWith(
  { client, instance }: DockerFixture,
  filters: { readonly label: string[] },
): Promise<readonly Thing[]> {
  const [containers, volumes, networks, images] = await Promise.all([
    client.listContainers({ all: true, filters }),
    client.listVolumes({ filters }),
    client.listNetworks({ filters }),
    client.listImages({ filters }),
  ]);
  const resourceOf = (labels: Readonly<Record<string, string>> | null | undefined) =>
    labels?.["berth.instance"] === instance ? labels["berth.resource"] : undefined;
  return [
    ...containers.map(({ Id, Names, State, Labels }): Thing => {
      return { what: "container", id: Id, state: `${Names.join()} ${State}`, resource: resourceOf(Labels) };
    }),
    ...(volumes.Volumes ?? []).map(({ Name, Labels }): Thing => {
      return { what: "volume", id: Name, state: Labels, resource: resourceOf(Labels) };
    }),
    ...networks.map(({ Id, Name, Labels }): Thing => {
      return { what: "network", id: Id, state: Name, resource: resourceOf(Labels) };
    }),
    ...images.map(({ Id, RepoTags, Labels }): Thing => {
      return { what: "image", id: Id, state: RepoTags, resource: resourceOf(Labels) };
    }),
  ];
}
const isOf = (uuid: string | undefined) => (thing: Thing) => thing.resource === uuid;
const sorted = (all: readonly Thing[]) => [...all].sort((a, b) => (a.what + a.id < b.what + b.id ? -1 : 1));
