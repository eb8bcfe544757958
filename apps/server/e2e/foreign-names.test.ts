import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomeOf, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

describeDocker("what a compose text names of its server", ["busybox:stable", "caddy:2"], (docker) => {
  let server: DockerServer;
  /** Uuid of a resource that belongs to no team of this test. */
  const theirs = "z9y8x7w6v5u4t3s2r1q0p9o8";
  beforeAll(async () => {
    server = await dockerServer(docker);
    const labels = { ...docker.labels, "berth.instance": docker.instance, "berth.resource": theirs };
    await docker.client.createNetwork({ Name: theirs, Labels: labels });
  });
  afterAll(() => server?.dispose());

  const compose = (network: string) => `services:
  web:
    image: busybox:stable
    command: ["sleep", "600"]
    init: true
    networks: [elsewhere]
networks: { elsewhere: { external: true, name: "${network}" } }
`;
  const create = async (network: string) =>
    server.rest("POST", "/services", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      docker_compose: compose(network),
    });
  async function start(network: string) {
    const { body } = await create(network);
    const { uuid } = body as { uuid: string };
    const started = await server.rest("POST", `/services/${uuid}/start`);
    return { uuid, outcome: await outcomeOf(server, (started.body as { deployment_uuid: string }).deployment_uuid) };
  }

  test("is never the network of another team's resource, whatever way it is named", async () => {
    const network = docker.client.getNetwork(theirs);
    const { Id: id } = await network.inspect();
    for (const name of [theirs, id]) {
      const refused = await create(name);
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining("docker_compose")]);
    }
    for (const name of [`\${NET:-${theirs}}`, `\${NET:-${id}}`]) {
      const { outcome } = await start(name);
      expect(outcome.status, outcome.log).toBe("failed");
      expect(outcome.log).toContain("does not belong to this team");
    }
    expect((await network.inspect()).Containers).toEqual({});
  });

  test("may be the network of another resource of its team", async () => {
    const name = docker.name("shared");
    await docker.client.createNetwork({ Name: name, Labels: { ...docker.labels } });
    const first = await start(name);
    expect(first.outcome.status, first.outcome.log).toBe("finished");
    const second = await start(first.uuid);
    expect(second.outcome.status, second.outcome.log).toBe("finished");
    const { Containers } = await docker.client.getNetwork(first.uuid).inspect();
    expect(Object.values(Containers ?? {})).toHaveLength(2);
  });
});
