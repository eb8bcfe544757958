import { DomainError } from "@berth/core";
import type { EngineImage, EngineImages } from "@berth/core/ports";
import type { Points } from "./points.fixture.ts";

/** A registry in memory: images by name. */
export type FakeRegistry = Map<string, string>;

/** Images of a fake engine, named after the deployments with artifacts. */
export function fakeImages(artifacts: Set<string>, registry: FakeRegistry, points: Points): EngineImages {
  const known = (image: string): EngineImage | undefined =>
    artifacts.has(deploymentOf(image))
      ? { id: `sha256:${deploymentOf(image)}`, sizeBytes: CHUNKS * CHUNK_BYTES, layers: [] }
      : undefined;
  const put = (image: string): EngineImage => {
    artifacts.add(deploymentOf(image));
    return { id: `sha256:${deploymentOf(image)}`, sizeBytes: CHUNKS * CHUNK_BYTES, layers: [] };
  };
  return {
    find: async (image) => known(image),
    held: async () => [],
    async *save(image) {
      if (known(image) === undefined) throw new DomainError("engine.failed", "There is no such image.");
      for (let count = 0; count < CHUNKS; count++) {
        await points.pass("save");
        yield new Uint8Array(CHUNK_BYTES);
      }
    },
    async load(content, image, signal) {
      let bytes = 0;
      for await (const chunk of content) {
        bytes += chunk.length;
        await points.pass("load", signal).catch((cause: unknown) => {
          if (signal.aborted) throw new DomainError("deploy.cancelled", "Cancelled.", { cause });
          throw cause;
        });
      }
      if (bytes !== CHUNKS * CHUNK_BYTES) throw new DomainError("engine.failed", "unexpected EOF");
      return put(image);
    },
    async push(image, { name, tag }, io) {
      await points.pass("push", io.signal);
      const digest = `${name}@sha256:${deploymentOf(image)}`;
      for (const each of [`${name}:${tag}`, digest]) registry.set(each, image);
      return digest;
    },
    async pull(reference, image, io) {
      await points.pass("pull", io.signal);
      if (!registry.has(reference)) throw new DomainError("deploy.build_failed", "The registry has no such image.");
      return put(image);
    },
  };
}

export const deploymentOf = (image: string): string => image.split(":").at(-1) ?? "";

const CHUNKS = 4;
const CHUNK_BYTES = 1000;
