import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { describeDocker } from "@berth/testing";
import { expect, test } from "vitest";
import { ensureNetwork } from "./networks.ts";

describeDocker("the network of releases", [], (docker) => {
  const networksOf = async (name: string) =>
    (await docker.client.listNetworks({ filters: { name: [name] } })).filter(({ Name }) => Name === name);

  test("is made once, however many releases start at once", async () => {
    const name = docker.name("net");
    const own = dockerClient(localHost("test"));
    await Promise.all(Array.from({ length: 8 }, () => ensureNetwork(own, name, docker.instance)));
    expect(await networksOf(name)).toHaveLength(1);
  });

  test("is one in the end when several control planes make it at once", async () => {
    const name = docker.name("net");
    const planes = Array.from({ length: 4 }, () => dockerClient(localHost("test")));
    await Promise.all(planes.map((own) => ensureNetwork(own, name, docker.instance)));
    expect(await networksOf(name)).toHaveLength(1);
  });
});
