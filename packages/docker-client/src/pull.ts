import { DomainError, isDomainError } from "@berth/core";
import type { BuildConfig } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { DEFAULT_IMAGE_TAG, imageReference, readDockerImage, registryOf } from "@berth/core/server";
import type Docker from "dockerode";
import { z } from "zod";
import { engineError } from "./client.ts";
import { jsonLines } from "./json-lines.ts";
import { isOwnName } from "./names.ts";
import type { RegistryLogins } from "./registry-auth.ts";
import { ReportedFailure, reasonOf, statusCodeOf } from "./status.ts";

/** An image on the engine. */
export interface PulledImage {
  /** `sha256:...` of the image itself. */
  readonly id: string;
  /** `name@sha256:...`, by which any engine can pull it again; `null` if it is in no registry. */
  readonly digest: string | null;
  /** TCP ports that it exposes, ascending. */
  readonly ports: readonly number[];
}

/** The image of an application's settings, such as `nginx:1.27` or `ghcr.io/owner/name@sha256:...`. */
export function wantedImage(config: BuildConfig): string {
  const { docker_registry_image_name: name, docker_registry_image_tag: tag } = config;
  const read = name === null ? undefined : readDockerImage(name, tag);
  if (read === undefined || "problems" in read) {
    const message = "The application names no image. Set docker_registry_image_name, for example nginx.";
    throw new DomainError("deploy.build_failed", message);
  }
  const image = imageReference({ name: read.image.name, tag: read.image.tag ?? DEFAULT_IMAGE_TAG });
  if (!isOwnName(image)) return image;
  throw new DomainError(
    "deploy.build_failed",
    `Images under berth/ are reserved for Berth. Name another than ${image}.`,
  );
}

/**
 * Pulls an image to an engine. An existing image that is named by its digest is not pulled again. When the registry
 * cannot be reached or does not know the name, an existing image of that name is used.
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`, `engine.unreachable`
 */
export async function pullImage(
  place: { readonly docker: Docker; readonly server: string; readonly logins: RegistryLogins },
  image: string,
  io: WorkIO,
): Promise<PulledImage> {
  const there = await inspectImage(place.docker, place.server, image);
  if (there !== undefined && image.includes("@")) {
    io.onLine(`${image} is on the server already`, "stdout");
    return there;
  }
  io.onLine(`Pulling ${image}`, "stdout");
  try {
    await pull(place, image, io);
  } catch (cause) {
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The pull was cancelled.", { cause });
    if (isDomainError(cause)) throw cause;
    const said = cause instanceof Error ? reasonOf(cause) : String(cause);
    if (there === undefined || !ELSEWHERE.test(said)) throw pullFailure(image, said, cause);
    io.onLine(`Warning: ${pullFailure(image, said, cause).message} Using the image on the server.`, "stderr");
    return there;
  }
  const pulled = await inspectImage(place.docker, place.server, image);
  if (pulled === undefined)
    throw new DomainError("deploy.build_failed", `${image} was pulled, but is missing on the server.`);
  if (pulled.digest !== null) io.onLine(`Digest ${pulled.digest}`, "stdout");
  return pulled;
}

/** `undefined`: the engine does not have the image. */
export async function inspectImage(docker: Docker, server: string, image: string): Promise<PulledImage | undefined> {
  try {
    const { Id, RepoDigests, Config } = await docker.getImage(image).inspect();
    const repository = image.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
    const digests: readonly string[] = RepoDigests ?? [];
    const digest = digests.find((each) => each.startsWith(`${repository}@`)) ?? digests[0] ?? null;
    return { id: Id, digest, ports: tcpPorts(Object.keys(Config?.ExposedPorts ?? {})) };
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return undefined;
    throw engineError(server, cause);
  }
}

/** @param exposed Ports such as `80/tcp`, `443/udp`. */
const tcpPorts = (exposed: readonly string[]): readonly number[] =>
  exposed
    .flatMap((each) => /^(\d+)(?:\/tcp)?$/.exec(each)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);

/** Rejects with the engine's message about the registry, which `pullFailure` turns into a sentence. */
export async function pull(
  { docker, server, logins }: { readonly docker: Docker; readonly server: string; readonly logins: RegistryLogins },
  image: string,
  io: WorkIO,
): Promise<void> {
  const login = logins.get(registryOf(image));
  // The engine answers only after the registry does, so the request itself must be abortable.
  const asked = docker.createImage(login ?? {}, { fromImage: image, abortSignal: io.signal });
  const stream = await asked.catch((cause: unknown) => {
    // When the registry refuses, the engine answers with a status.
    if (statusCodeOf(cause) === undefined) throw engineError(server, cause);
    throw cause;
  });
  try {
    await followProgress(stream, io);
  } catch (cause) {
    // A pull whose connection broke may be asked for again: layers that the engine has are not loaded twice.
    throw cause instanceof ReportedFailure || io.signal.aborted ? cause : engineError(server, cause);
  }
}

/**
 * Reads an engine's report of a pull or push to its end.
 * @throws ReportedFailure with the engine's message; any other error is one of the connection.
 */
export async function followProgress(stream: NodeJS.ReadableStream, io: WorkIO): Promise<void> {
  const onAbort = () =>
    (stream as NodeJS.ReadableStream & { destroy(error: Error): void }).destroy(new Error("aborted"));
  if (io.signal.aborted) onAbort();
  io.signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const line of jsonLines(stream)) tell(line, io);
  } finally {
    io.signal.removeEventListener("abort", onAbort);
  }
}

function tell(line: unknown, io: WorkIO): void {
  const read = Progress.safeParse(line);
  if (!read.success) return;
  const { error, status, id, progress } = read.data;
  if (error !== undefined) throw new ReportedFailure(error);
  // Progress bars are not logged.
  if (status === undefined || progress || QUIET.test(status)) return;
  io.onLine(id === undefined ? status : `${id}: ${status}`, "stdout");
}

const Progress = z.object({
  error: z.string().optional(),
  status: z.string().optional(),
  id: z.string().optional(),
  progress: z.string().optional(),
});
const QUIET =
  /^(Downloading|Extracting|Waiting|Verifying Checksum|Preparing|Pushing|Pulling fs layer|Download complete)/;

/** Failures after which an existing image of that name may be used. */
const ELSEWHERE =
  /no such host|i\/o timeout|connection refused|network is unreachable|does not exist|manifest unknown|not found/i;

/** A sentence with the registry's reason and a remedy. */
export function pullFailure(image: string, said: string, cause?: unknown): DomainError {
  const { sentence } = REASONS.find(({ pattern }) => pattern.test(said)) ?? {
    sentence: (name: string) => `The image ${name} could not be pulled: ${said.replace(/\.$/, "")}.`,
  };
  return new DomainError("deploy.build_failed", sentence(image), { cause });
}

const REASONS: readonly { readonly pattern: RegExp; readonly sentence: (image: string) => string }[] = [
  {
    pattern: /toomanyrequests|rate limit|429/i,
    sentence: (image) => `Rate limit of the registry of ${image} reached. Log in to it, or try again later.`,
  },
  {
    pattern: /unauthorized|authentication required|no basic auth|denied|incorrect username/i,
    sentence: (image) =>
      `The registry refuses the image ${image}. Check its name, and add a login for ${registryOf(image)} to Berth's registries when it is private.`,
  },
  {
    pattern: /manifest unknown|not found|does not exist/i,
    sentence: (image) => `The registry has no image ${image}. Check its name and tag.`,
  },
  {
    pattern: /no such host|i\/o timeout|connection refused|network is unreachable|TLS handshake|x509/i,
    sentence: (image) => `The registry of ${image} could not be reached from the server.`,
  },
];
