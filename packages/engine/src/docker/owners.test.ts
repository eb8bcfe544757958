import { describeDocker } from "@berth/testing";
import { expect, test } from "vitest";
import { ownersOf } from "./owners.ts";

describeDocker("whose something on an engine is", ["busybox:stable"], (docker) => {
  const { client, instance } = docker;
  const ours = (resource?: string) => ({
    ...docker.labels,
    "berth.instance": instance,
    ...(resource === undefined ? {} : { "berth.resource": resource }),
  });
  const ask = (...objects: Parameters<typeof ownersOf>[1]) => ownersOf({ docker: client, instance }, objects);

  test("is told by its labels, also when it is named by its id", async () => {
    const [net, theirs, volume] = [docker.name("net"), docker.name("theirs"), docker.name("volume")];
    const { id } = await client.createNetwork({ Name: net, Labels: ours("one") });
    await client.createNetwork({ Name: theirs, Labels: { ...ours("two"), "berth.instance": "another" } });
    await client.createVolume({ Name: volume, Labels: ours("three") });
    const { name } = await docker.container({ image: "busybox:stable", argv: ["sleep", "60"], labels: ours() });
    expect(
      await ask(
        { type: "network", name: net },
        { type: "network", name: id },
        { type: "network", name: id.slice(0, 12) },
        { type: "network", name: theirs },
        { type: "volume", name: volume },
        { type: "container", name },
        { type: "network", name: await docker.network() },
        { type: "network", name: docker.name("none") },
        { type: "network", name: "bridge" },
      ),
    ).toEqual([
      ...Array(3).fill({ isOurs: true, resourceUuid: "one" }),
      { isOurs: false, resourceUuid: "two" },
      { isOurs: true, resourceUuid: "three" },
      { isOurs: true, resourceUuid: null },
      ...[undefined, undefined, undefined],
    ]);
  });

  test.each(["../containers/json", "a/b", "", "-x", "a b", "x?force=1"])("is not asked of %j", async (name) => {
    const asked = ask({ type: "network", name });
    await expect(asked).rejects.toMatchObject({ code: "deploy.start_failed" });
  });
});
