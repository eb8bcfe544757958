import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerClient, engineError } from "@berth/docker-client";
import { localHost } from "@berth/host";
import {
  type CutClient,
  cutsOf,
  type DockerFixture,
  describeCuts,
  describeDocker,
  relay,
  TEST_DOCKER_SOCKET,
} from "@berth/testing";

const IMAGE = "alpine:3";

describeDocker("on this machine's engine,", [IMAGE], (docker) => {
  describeCuts("a connection to a Docker engine", { open: () => open(docker), codes: ["engine.unreachable"] });
});

/** Volumes are what an engine makes fastest. */
async function open({ client: near, labels, name }: DockerFixture): Promise<CutClient> {
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-engine-"));
  const socketPath = join(folder, "engine.sock");
  const way = await relay({ path: TEST_DOCKER_SOCKET }, socketPath);
  const far = dockerClient(localHost("test"), socketPath);
  const failed = (cause: unknown) => {
    throw engineError("test", cause);
  };
  const prefix = name("cut");
  const imageBytes = await sizeOf(await near.getImage(IMAGE).get(), () => undefined);
  return {
    cuts: cutsOf(way),
    write: (number) => far.createVolume({ Name: `${prefix}-${number}`, Labels: { ...labels } }).catch(failed),
    async written() {
      const { Volumes } = await near.listVolumes({ filters: { name: [prefix] } });
      return Volumes.map(({ Name }) => Number(Name.slice(prefix.length + 1)));
    },
    async read(onBegun) {
      const image = await far.getImage(IMAGE).get().catch(failed);
      return (await sizeOf(image, onBegun).catch(failed)) === imageBytes;
    },
    async close() {
      await way.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function sizeOf(stream: NodeJS.ReadableStream, onBegun: () => void): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) {
    if (bytes === 0) onBegun();
    bytes += (chunk as Buffer).length;
  }
  return bytes;
}
