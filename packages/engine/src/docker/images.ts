import { Readable } from "node:stream";
import {
  DomainError,
  type EngineImage,
  type EngineImages,
  isDomainError,
  type RegistryImage,
  type WorkIO,
} from "@berth/core";
import type Docker from "dockerode";
import { isOwnName } from "./builder/names.ts";
import { followProgress, inspectImage, pullImage } from "./builder/pull.ts";
import { readLogins, registryOf } from "./builder/registry-auth.ts";
import { engineError, reasonOf, statusCodeOf } from "./client.ts";

export interface DockerImagesOptions {
  readonly docker: Docker;
  /** Its name, for people. */
  readonly server: string;
  /** Docker configuration with logins for registries, e.g. `~/.docker/config.json`. Default: none. */
  readonly dockerConfigFile?: string | undefined;
}

/** Moves images between a server's engine and other engines or registries. Nothing of them is kept on Berth's machine. */
export function dockerImages(options: DockerImagesOptions): EngineImages {
  const { docker, server, dockerConfigFile } = options;
  const images: EngineImages = {
    async find(image) {
      try {
        const { Id, Size } = await docker.getImage(image).inspect();
        return { id: Id, sizeBytes: Size };
      } catch (cause) {
        if (statusCodeOf(cause) === 404) return undefined;
        throw engineError(server, cause);
      }
    },
    save: (image) => saved(options, image),
    async load(content, image, signal) {
      await load(options, content, signal);
      return await require(images, server, image);
    },
    async push(image, to, io) {
      if (isOwnName(to.name)) throw refused(to, `Images under berth/ are Berth's own`);
      return await push(
        { docker, server, login: (await readLogins(dockerConfigFile)).get(registryOf(to.name)) },
        image,
        to,
        io,
      );
    },
    async pull(reference, image, io) {
      const logins = await readLogins(dockerConfigFile);
      const wasThere = (await inspectImage(docker, server, reference)) !== undefined;
      const { id } = await pullImage({ docker, server, logins }, reference, io);
      await named(options, id, image);
      // With one name only it is gone as soon as nobody needs that name.
      if (!wasThere) await forget(options, reference);
      return await require(images, server, image);
    },
  };
  return images;
}

type Place = Pick<DockerImagesOptions, "docker" | "server">;

async function require(images: EngineImages, server: string, image: string): Promise<EngineImage> {
  const found = await images.find(image);
  if (found !== undefined) return found;
  throw new DomainError("engine.failed", `The image ${image} was brought to ${server}, but is not there.`);
}

async function* saved({ docker, server }: Place, image: string): AsyncGenerator<Uint8Array> {
  let content: Readable | undefined;
  try {
    // The library's type does not say that it can be destroyed.
    content = (await docker.getImage(image).get()) as Readable;
    for await (const chunk of content) yield chunk;
  } catch (cause) {
    throw engineError(server, cause);
  } finally {
    content?.destroy();
  }
}

async function load({ docker, server }: Place, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  const source = Readable.from(content, { objectMode: false });
  let broken: unknown;
  source.once("error", (cause) => {
    broken ??= cause;
  });
  const stop = () => source.destroy(new DomainError("deploy.cancelled", "The move of the image was cancelled."));
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    // The library ends its request when the source breaks.
    await followProgress(await docker.loadImage(source, { quiet: true }), { signal, onLine: () => undefined });
  } catch (cause) {
    // What ended the source ended the rest.
    throw engineError(server, broken ?? cause);
  } finally {
    signal.removeEventListener("abort", stop);
    source.destroy();
  }
}

async function push(
  { docker, server, login }: Place & { readonly login: object | undefined },
  image: string,
  to: RegistryImage,
  io: WorkIO,
): Promise<string> {
  const reference = `${to.name}:${to.tag}`;
  const before = await inspectImage(docker, server, reference);
  io.onLine(`Pushing ${reference}`, "stdout");
  try {
    await docker.getImage(image).tag({ repo: to.name, tag: to.tag });
    // Without a login the engine asks for the header all the same.
    const authconfig = (login ?? {}) as Docker.AuthConfig;
    const request = docker.getImage(reference).push({ authconfig });
    await followProgress(await unlessAborted(request, io.signal), io);
    const digest = (await inspectImage(docker, server, reference))?.digest ?? null;
    if (digest === null) throw refused(to, "it did not say under which digest it took it");
    io.onLine(`Pushed ${digest}`, "stdout");
    return digest;
  } catch (cause) {
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The push was cancelled.", { cause });
    if (isDomainError(cause)) throw cause;
    // A connection that broke has no status, and neither has what comes in the course of a push.
    throw refused(to, cause instanceof Error ? reasonOf(cause) : String(cause), cause);
  } finally {
    if (before === undefined) await forget({ docker, server }, reference);
    else await named({ docker, server }, before.id, reference).catch(() => undefined);
  }
}

/** An engine answers nothing before it has found the registry. */
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

async function named({ docker, server }: Place, id: string, image: string): Promise<void> {
  const at = image.lastIndexOf(":");
  try {
    await docker.getImage(id).tag({ repo: image.slice(0, at), tag: image.slice(at + 1) });
  } catch (cause) {
    throw engineError(server, cause);
  }
}

/** The name only: the image has another one. What stays of it disturbs nobody. */
async function forget({ docker }: Place, reference: string): Promise<void> {
  await docker
    .getImage(reference)
    .remove()
    .catch(() => undefined);
}

function refused({ name, tag }: RegistryImage, said: string, cause?: unknown): DomainError {
  const isLogin = /unauthorized|authentication required|no basic auth|denied|incorrect username/i.test(said);
  const what = `The image could not be pushed as ${name}:${tag} to the registry ${registryOf(name)}`;
  const why = isLogin
    ? "it wants a login that may push. Log in to it with `docker login` on Berth's machine"
    : said.trim().replace(/\.$/, "");
  return new DomainError("deploy.build_failed", `${what}: ${why}.`, { cause });
}
