import { planCleanup, type SeenObject } from "@berth/core/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasEngine, type ImageSuite, imageSuite } from "./builder/image.fixture.ts";
import { dockerCleaner } from "./cleanup.ts";

describe.skipIf(!hasEngine)("a cleanup of an engine", () => {
  let suite: ImageSuite;
  let instance: string;
  const made: (() => Promise<unknown>)[] = [];
  beforeAll(() => {
    const { resourceUuid, close } = imageSuite();
    instance = `i${resourceUuid}`;
    suite = imageSuite({ instanceId: instance });
    made.push(close);
  });
  afterAll(async () => {
    for (const remove of made.reverse()) await remove().catch(() => undefined);
    await suite.close();
  });
  const labels = (fields: Record<string, string> = {}) => ({
    "berth.managed": "true",
    "berth.instance": instance,
    "berth.test": instance,
    ...fields,
  });
  /** All objects with this test's mark, whoever owns them. */
  const seen = async () => {
    const filters = { label: [`berth.test=${instance}`] };
    const [{ Volumes }, networks, containers, images] = await Promise.all([
      suite.docker.listVolumes({ filters }),
      suite.docker.listNetworks({ filters }),
      suite.docker.listContainers({ all: true, filters }),
      suite.docker.listImages({ filters: { reference: [`berth/${suite.resourceUuid}:*`] } }),
    ]);
    return [
      ...(Volumes ?? []).map(({ Name }) => Name),
      ...networks.map(({ Name }) => Name),
      ...containers.map(({ Names }) => Names[0]?.slice(1) ?? ""),
      ...images.flatMap(({ RepoTags }) => RepoTags ?? []),
    ].sort();
  };

  test("removes what was planned and nothing else of all that is there", async () => {
    const { docker, resourceUuid } = suite;
    const volume = async (name: string, own: Record<string, string>) => {
      await docker.createVolume({ Name: `${instance}-${name}`, Labels: own });
      made.push(() => docker.getVolume(`${instance}-${name}`).remove());
    };
    await volume("recorded", labels({ "berth.resource": resourceUuid }));
    await volume("orphan", labels({ "berth.resource": "gone" }));
    await volume("foreign", { "berth.test": instance });
    await volume("others", { ...labels({ "berth.resource": "gone" }), "berth.instance": "another" });
    const network = await docker.createNetwork({
      Name: `${instance}-net`,
      Labels: labels({ "berth.resource": "gone" }),
    });
    made.push(() => network.remove());
    const old = await suite.build({ Dockerfile: `FROM alpine:3\nRUN echo ${instance} old > /x` });
    const running = await suite.build({ Dockerfile: `FROM alpine:3\nRUN echo ${instance} new > /x` });
    const used = await suite.build({ Dockerfile: `FROM alpine:3\nRUN echo ${instance} used > /x` });
    const container = await docker.createContainer({ name: `${instance}-c`, Image: used.image, Labels: labels() });
    made.push(() => container.remove({ force: true }));
    const before = await seen();

    const cleaner = dockerCleaner({ docker, server: "here", instance });
    const recorded = {
      instance,
      resources: new Set([resourceUuid]),
      existing: new Set([resourceUuid]),
      own: new Set([resourceUuid]),
      deployments: new Set([running.image.split(":")[1] ?? ""]),
      networks: new Set<string>(),
    };
    const planned = async (settings: Parameters<typeof planCleanup>[2]) =>
      planCleanup(await cleaner.observe(), recorded, settings);
    const cautious = await planned({ delete_unused_volumes: false, delete_unused_networks: false });
    expect(cautious.map(({ name }) => name)).toEqual([old.image]);
    const plan = await planned({ delete_unused_volumes: true, delete_unused_networks: true });
    expect(plan.map(({ name }) => name).sort()).toEqual([old.image, `${instance}-net`, `${instance}-orphan`].sort());
    const outcomes = await Promise.all(plan.map((operation) => cleaner.remove(operation)));
    expect(outcomes).toEqual(["removed", "removed", "removed"]);
    const gone = new Set(plan.map(({ name }) => name));
    expect(await seen()).toEqual(before.filter((name) => !gone.has(name)));
    // A planned object may have been removed, or be in use, when its turn comes.
    for (const operation of plan) expect(await cleaner.remove(operation)).toBe("gone");
    const inUse = (await cleaner.observe()).find(({ name }) => name === used.image);
    expect(await cleaner.remove(operationFor(inUse))).toBe("stays");
  });

  test("removes a container with the volumes that only it has", async () => {
    const { docker, resourceUuid } = suite;
    await suite.build({ Dockerfile: `FROM alpine:3\nRUN echo ${instance} > /x\nVOLUME /data` });
    const [image] = await docker.listImages({ filters: { reference: [`berth/${resourceUuid}:*`] } });
    const name = `${instance}-v`;
    const container = await docker.createContainer({
      name,
      Image: image?.Id ?? "",
      Labels: labels({ "berth.resource": "gone", "berth.role": "release" }),
      HostConfig: { Mounts: [{ Type: "volume", Source: "", Target: "/data" }] },
    });
    made.push(() => container.remove({ force: true, v: true }));
    const [volume] = (await container.inspect()).Mounts;
    const cleaner = dockerCleaner({ docker, server: "here", instance });
    const seenContainer = (await cleaner.observe()).find((one) => one.name === name);
    expect(await cleaner.remove(operationFor(seenContainer))).toBe("removed");
    await expect(docker.getVolume(volume?.Name ?? "").inspect()).rejects.toMatchObject({ statusCode: 404 });
  });
});

function operationFor(object: SeenObject | undefined) {
  if (object === undefined) throw new Error("It was built above");
  const { type, id, name } = object;
  return { type, id, name, resource_uuid: null, size_bytes: null, reason: "a test" };
}
