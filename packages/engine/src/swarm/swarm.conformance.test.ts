import { describeDocker, SERVER_IMAGE } from "@berth/testing";
import { engineConformance } from "../conformance.ts";
import { IMAGES } from "../docker/docker.fixture.ts";
import { swarmWorld } from "./swarm.fixture.ts";

describeDocker("on a swarm", [...IMAGES, SERVER_IMAGE], (fixture) => {
  engineConformance("swarm", async () => {
    const world = await swarmWorld(fixture, { nodes: 3 });
    let engine = world.engine();
    return {
      engine,
      marker: "/tmp/berth-marker",
      artifact: () => world.image(),
      async reincarnate() {
        await engine.close();
        engine = world.engine();
        return engine;
      },
      ask: (upstream, path) => world.ask(engine, upstream, path),
      leftovers: async (ref) => (await world.containersOf(ref)).map(({ Names }) => Names.join()),
      async hasMarker() {
        const changes = await Promise.all(
          world.nodes.map(async ({ docker }) => {
            const containers = await docker.listContainers({ all: true });
            return await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).changes()));
          }),
        );
        const onServers = await Promise.all(world.servers.map((server) => server.exec(["ls", "/tmp"])));
        return JSON.stringify([changes, onServers]).includes("berth-marker");
      },
      close: () => world.close(),
    };
  });
});
