import { posix } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import type { ReleaseSpec } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { isAway, LABELS, reasonOf, refOf, statusCodeOf } from "@berth/docker-client";
import type { Host } from "@berth/host";
import type Docker from "dockerode";
import type { ContainerCreateOptions } from "dockerode";
import { createOptions, imageOf } from "./container.ts";
import { putFiles } from "./files.ts";
import { ensureNetwork } from "./networks.ts";
import { replicaOptions } from "./replica-options.ts";
import { UP } from "./state.ts";
import { takenPort } from "./taken-port.ts";
import { ensureVolumes } from "./volumes.ts";
import type { Seen, SeenContainer } from "./watch.ts";

export interface StartPlace {
  readonly host: Host;
  readonly docker: Docker;
  readonly instance: string;
  /** The network of releases that name none. */
  readonly network: string;
  /** The release's existing containers. */
  readonly seen: Seen | undefined;
}

type ExistingContainer = Pick<SeenContainer, "id" | "info">;

/**
 * Starts a release: each of its existing containers that was made from the same spec, else a new one.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function startRelease(place: StartPlace, spec: ReleaseSpec, io: WorkIO): Promise<void> {
  const { replicas = 1 } = spec;
  for (let number = 1; number <= replicas; number += 1) await startReplica(place, spec, number, io);
}

function numbered(seen: Seen | undefined, number: number): ExistingContainer | undefined {
  if (seen?.containers.length === 0) return number === 1 ? seen : undefined;
  return seen?.containers.find(({ container }) => container.number === number);
}

/** @returns The container's id. */
async function startReplica(place: StartPlace, spec: ReleaseSpec, number: number, { signal }: WorkIO): Promise<string> {
  const { docker, instance } = place;
  const seen = numbered(place.seen, number);
  const state = seen?.info.State.Status ?? "";
  const network = spec.network ?? place.network;
  const own = createOptions(spec, { instance, network, image: imageOf(spec) });
  const options = replicaOptions(own, spec, number);
  const isSame = seen !== undefined && seen.info.Config.Labels[LABELS.spec] === options.Labels?.[LABELS.spec];
  if (isSame && state !== "dead") {
    if (UP.has(state)) return seen.id;
    if (state === "paused") {
      await docker.getContainer(seen.id).unpause();
      return seen.id;
    }
  }
  // A start never replaces a running container, whose environment belongs to its deployment.
  if (seen !== undefined && UP.has(state)) return seen.id;
  requireWanted(signal);
  await ensureNetwork(docker, network, instance);
  const { resourceUuid, deploymentUuid } = spec;
  await ensureVolumes(docker, spec.storages, { server: place.host.name, instance, resourceUuid, deploymentUuid });
  const isKept = isSame && state !== "dead";
  if (seen !== undefined && !isKept) await removeContainer(docker.getContainer(seen.id));
  let kept = isKept ? docker.getContainer(seen.id) : undefined;
  for (let attempt = 1; ; attempt += 1) {
    const container = kept ?? (await create(place, spec, options));
    try {
      await startWithFiles(container, spec, signal);
      return container.id;
    } catch (cause) {
      // What an attempt that lost its connection wanted to remove is removed late. The next container has its name.
      if (isBeingRemoved(cause) && attempt < ATTEMPTS_MAX) {
        await removeContainer(container);
        kept = undefined;
        continue;
      }
      const failure = startFailed(cause);
      // A container that never ran has no logs or data to look at. If the connection broke it may run, and the next
      // attempt finds it by its name.
      const isRefused = failure !== cause || isDomainError(cause, "deploy.cancelled");
      if (kept === undefined && isRefused) await removeContainer(container).catch(() => undefined);
      throw failure;
    }
  }
}

async function startWithFiles(container: Docker.Container, spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
  requireWanted(signal);
  const files = spec.storages.filter((mount) => mount.type === "file");
  if (files.length > 0) {
    const { Config } = await container.inspect();
    await putFiles(container, files, Config.User);
    requireWanted(signal);
  }
  try {
    await container.start();
  } catch (cause) {
    if (statusCodeOf(cause) !== 304) throw cause; // It runs already.
  }
}

const isBeingRemoved = (cause: unknown): boolean =>
  cause instanceof Error &&
  ((statusCodeOf(cause) === 404 && /No such container/.test(reasonOf(cause))) ||
    /marked for removal|removal of container \S+ is already in progress/i.test(reasonOf(cause)));

/** @returns Whether it runs now. @throws DomainError `deploy.start_failed` */
export async function resumeContainer(docker: Docker, { id, info }: ExistingContainer): Promise<boolean> {
  const state = info.State.Status;
  if (UP.has(state)) return true;
  const container = docker.getContainer(id);
  try {
    if (state === "paused") await container.unpause();
    else if (state === "exited" || state === "created") await container.start();
    else return false;
  } catch (cause) {
    // Another caller started or removed it first.
    const code = statusCodeOf(cause);
    if (code !== 304) return code === 404 ? false : Promise.reject(startFailed(cause));
  }
  return true;
}

async function create(
  place: StartPlace,
  spec: ReleaseSpec,
  options: ContainerCreateOptions,
): Promise<Docker.Container> {
  const made = new Set<string>();
  for (;;) {
    try {
      return await place.docker.createContainer(options);
    } catch (cause) {
      if (statusCodeOf(cause) === 409) return await existing(place, spec, options, cause);
      const missing = missingFolder(spec, cause);
      // The engine names one missing folder at a time. If it still misses a created one, that lies on another machine.
      if (missing === undefined || made.has(missing)) throw startFailed(cause);
      made.add(missing);
      await place.host.files.makeFolder(missing, { mode: 0o755 });
    }
  }
}

/** A parallel start created it first, or a foreign container has the name. */
async function existing(
  { docker, instance }: StartPlace,
  spec: ReleaseSpec,
  { name = "" }: ContainerCreateOptions,
  cause: unknown,
): Promise<Docker.Container> {
  const container = docker.getContainer(name);
  const { Config, Id } = await container.inspect();
  if (refOf(Config.Labels, instance)?.deploymentUuid === spec.deploymentUuid) return docker.getContainer(Id);
  const message = `A container that Berth did not create has the name ${name}. Rename or remove it, then deploy again.`;
  throw new DomainError("deploy.start_failed", message, { cause });
}

/** Folders of the server are created at the first mount, as `docker run` does. */
function missingFolder({ storages }: ReleaseSpec, cause: unknown): string | undefined {
  const [, path = ""] =
    /bind source path does not exist: (.+)$/s.exec(cause instanceof Error ? reasonOf(cause) : "") ?? [];
  // Some engines report paths without redundant slashes.
  return storages
    .flatMap((mount) => (mount.type === "folder" ? [mount.hostPath] : []))
    .find((one) => plain(one) === plain(path));
}

const plain = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, "");

/** Removes a container with its anonymous volumes. Idempotent. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (cause) {
    const code = statusCodeOf(cause);
    // 409: its removal is already in progress.
    if (code === 409) return await container.wait({ condition: "removed" }).catch(() => undefined);
    if (code !== 404) throw cause;
  }
}

/** @throws DomainError `deploy.cancelled` */
export function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
}

/** @returns Errors unchanged after which the call can be retried. */
export function startFailed(cause: unknown, what: "container" | "service" = "container"): unknown {
  if (!(cause instanceof Error) || statusCodeOf(cause) === undefined || isAway(cause)) return cause;
  return new DomainError("deploy.start_failed", `The ${what} could not be started: ${explain(cause)}`, { cause });
}

/** The engine's message, with a remedy for common failures. */
export function explain(cause: Error): string {
  const reason = reasonOf(cause);
  const [, image] = /No such image: (\S+)/.exec(reason) ?? [];
  if (image !== undefined) return `the image ${image} is no longer on the server. Deploy again.`;
  const port = takenPort(reason);
  if (port !== undefined) return `port ${port} of the server is taken. Choose another one in ports_mappings.`;
  const [, program] = /exec: "([^"]*)": (?:executable file not found|stat )/.exec(reason) ?? [];
  if (program !== undefined) return `its image has no program ${program}. Check the start command.`;
  return reason;
}

const ATTEMPTS_MAX = 3;
