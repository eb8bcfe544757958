import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import type { EngineImage, EngineImages, RegistryImage, WorkIO } from "@berth/core/ports";
import { registryOf } from "@berth/core/server";
import {
  engineError,
  followProgress,
  inspectImage,
  isOwnName,
  type LoginSources,
  pullImage,
  ReportedFailure,
  readLogins,
  reasonOf,
  statusCodeOf,
} from "@berth/docker-client";
import type Docker from "dockerode";
import { withoutFiles } from "./archive-filter.ts";

export interface DockerImagesOptions extends LoginSources {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
}

/** Moves images between a server's engine and other engines or registries. Berth's machine stores none of them. */
export function dockerImages(options: DockerImagesOptions): EngineImages {
  const { docker, server } = options;
  const images: EngineImages = {
    async find(image) {
      try {
        const { Id, Size, RootFS } = await docker.getImage(image).inspect();
        return { id: Id, sizeBytes: Size, layers: RootFS.Layers ?? [] };
      } catch (cause) {
        if (statusCodeOf(cause) === 404) return undefined;
        throw engineError(server, cause);
      }
    },
    held: (layers) => heldLayers(options, layers),
    save: (image, without) => saved(options, image, new Set(without)),
    async load(content, image, signal) {
      await load(options, content, signal);
      return await require(images, server, image);
    },
    async push(image, to, io) {
      if (isOwnName(to.name)) throw refused(to, `Images under berth/ are Berth's own`);
      return await push({ docker, server, login: (await readLogins(options)).get(registryOf(to.name)) }, image, to, io);
    },
    async pull(reference, image, io) {
      const logins = await readLogins(options);
      const wasThere = (await inspectImage(docker, server, reference)) !== undefined;
      const { id } = await pullImage({ docker, server, logins }, reference, io);
      await named(options, id, image);
      // Removing the original name leaves only the deployment's, so the image can be deleted with it.
      if (!wasThere) await forget(options, reference);
      return await require(images, server, image);
    },
  };
  return images;
}

type ServerDocker = Pick<DockerImagesOptions, "docker" | "server">;

async function require(images: EngineImages, server: string, image: string): Promise<EngineImage> {
  const found = await images.find(image);
  if (found !== undefined) return found;
  throw new DomainError("engine.failed", `The image ${image} was copied to ${server}, but is missing there.`);
}

/** Engines identify a layer by all layers below it, so only the longest common prefix with an image can be skipped. */
async function heldLayers({ docker, server }: ServerDocker, layers: readonly string[]): Promise<readonly string[]> {
  try {
    const { DriverStatus }: { readonly DriverStatus?: readonly (readonly string[])[] | null } = await docker.info();
    // The containerd store requires every file of an archive.
    if (DriverStatus?.flat().some((text) => text.includes("containerd.snapshotter"))) return [];
    const images = (await docker.listImages()).slice(0, COMPARED_IMAGES_MAX);
    const counts = await Promise.all(
      images.map(async ({ Id }) => {
        const own = await docker
          .getImage(Id)
          .inspect()
          .then(({ RootFS }) => RootFS.Layers ?? [])
          .catch((cause: unknown) => (statusCodeOf(cause) === 404 ? [] : Promise.reject(cause)));
        const other = layers.findIndex((layer, at) => own[at] !== layer);
        return other === -1 ? layers.length : other;
      }),
    );
    return layers.slice(0, Math.max(0, ...counts));
  } catch (cause) {
    throw engineError(server, cause);
  }
}

const COMPARED_IMAGES_MAX = 100; // Newest images only: each costs a request, and older ones rarely share layers.

async function* saved(
  { docker, server }: ServerDocker,
  image: string,
  without: ReadonlySet<string>,
): AsyncGenerator<Uint8Array> {
  let content: Readable | undefined;
  try {
    // The library's type lacks `destroy`.
    content = (await docker.getImage(image).get()) as Readable;
    yield* without.size === 0 ? content : withoutFiles(content, (path) => without.has(layerAt(path)));
  } catch (cause) {
    throw engineError(server, cause);
  } finally {
    content?.destroy();
  }
}

/** Engines from 25 on name a layer's file by its digest. Older ones do not, so nothing is skipped. */
const layerAt = (path: string): string => path.replace(/^blobs\/sha256\//, "sha256:");

async function load(
  { docker, server }: ServerDocker,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const source = Readable.from(content, { objectMode: false });
  let broken: unknown;
  source.once("error", (cause) => {
    broken ??= cause;
  });
  const stop = () => source.destroy(new DomainError("deploy.cancelled", "The move of the image was cancelled."));
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    // The library ends its request when the source fails.
    await followProgress(await docker.loadImage(source, { quiet: true }), { signal, onLine: () => undefined });
  } catch (cause) {
    // A failed source ends the transfer.
    throw engineError(server, broken ?? cause);
  } finally {
    signal.removeEventListener("abort", stop);
    source.destroy();
  }
}

async function push(
  { docker, server, login }: ServerDocker & { readonly login: object | undefined },
  image: string,
  to: RegistryImage,
  io: WorkIO,
): Promise<string> {
  const reference = `${to.name}:${to.tag}`;
  const before = await inspectImage(docker, server, reference);
  io.onLine(`Pushing ${reference}`, "stdout");
  try {
    await docker.getImage(image).tag({ repo: to.name, tag: to.tag });
    // The engine requires the header even without a login.
    const authconfig = (login ?? {}) as Docker.AuthConfig;
    const request = docker.getImage(reference).push({ authconfig });
    await followProgress(await unlessAborted(request, io.signal), io);
    const digest = (await inspectImage(docker, server, reference))?.digest ?? null;
    if (digest === null) throw refused(to, "it did not report the image's digest");
    io.onLine(`Pushed ${digest}`, "stdout");
    return digest;
  } catch (cause) {
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The push was cancelled.", { cause });
    // An engine that skips what the registry has may be asked again.
    if (!(cause instanceof ReportedFailure) && statusCodeOf(cause) === undefined) throw engineError(server, cause);
    throw refused(to, cause instanceof Error ? reasonOf(cause) : String(cause), cause);
  } finally {
    if (before === undefined) await forget({ docker, server }, reference);
    else await named({ docker, server }, before.id, reference).catch(() => undefined);
  }
}

/** Rejects on abort at once: the engine sends nothing until it has reached the registry. */
async function unlessAborted(
  request: Promise<NodeJS.ReadableStream>,
  signal: AbortSignal,
): Promise<NodeJS.ReadableStream> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new Error("aborted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
  request.then(
    (stream) => signal.aborted && (stream as Readable).destroy(),
    () => undefined,
  );
  try {
    return await Promise.race([request, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function named({ docker, server }: ServerDocker, id: string, image: string): Promise<void> {
  const at = image.lastIndexOf(":");
  try {
    await docker.getImage(id).tag({ repo: image.slice(0, at), tag: image.slice(at + 1) });
  } catch (cause) {
    throw engineError(server, cause);
  }
}

/** Removes one name; the image keeps another. A failure does no harm. */
async function forget({ docker }: ServerDocker, reference: string): Promise<void> {
  await docker
    .getImage(reference)
    .remove()
    .catch(() => undefined);
}

function refused({ name, tag }: RegistryImage, said: string, cause?: unknown): DomainError {
  const isLogin = /unauthorized|authentication required|no basic auth|denied|incorrect username/i.test(said);
  const what = `The image could not be pushed as ${name}:${tag} to the registry ${registryOf(name)}`;
  const why = isLogin
    ? "it requires a login that may push. Add one to Berth's registries"
    : said.trim().replace(/\.$/, "");
  return new DomainError("deploy.build_failed", `${what}: ${why}.`, { cause });
}
