import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { ManagedProxyStatus, ProxyType } from "@berth/core/ports";
import { PROXY_TYPES } from "@berth/core/ports";
import { engineError, LABELS, pullOwnImage, readFrames, statusCodeOf } from "@berth/docker-client";
import type { Argv } from "@berth/host";
import type Docker from "dockerode";
import {
  createOptions,
  KIND,
  type ProxyContainerSpec,
  REHEARSAL_KIND,
  rehearsalOptions,
  SEAT_LABEL,
  type Seat,
  STOP_SECONDS,
  versionOf,
} from "./container-options.ts";
import { joinOverlays, overlaysOf } from "./overlays.ts";

/** Server and engine of a proxy's container. */
export interface ProxyPlace {
  readonly server: string;
  readonly docker: Docker;
  /** Id of the Berth instance, since several may share an engine. */
  readonly instance: string;
  /** Additional labels of the container. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** See `ServerProxyOptions`. */
  readonly joinsOverlays?: boolean | undefined;
  readonly overlays?: (() => Promise<readonly string[]>) | undefined;
  readonly httpPort?: number | undefined;
  readonly httpsPort?: number | undefined;
}

/** A started container that does not serve yet. */
export interface StartedContainer {
  readonly seat: Seat;
  state(): Promise<ManagedProxyStatus["state"]>;
  /** Last lines of its log. */
  lastLines(): Promise<string>;
  /** Runs a program in the container. @returns Its output. */
  output(argv: Argv): Promise<string>;
}

/** Wanted state of a server's proxy, and how to verify it. */
export interface WantedProxy {
  specFor(seat: Seat): ProxyContainerSpec;
  /** Writes its files before a container starts. */
  prepare(): Promise<void>;
  /** @throws DomainError `setup.failed` when it does not come up */
  untilServing(container: StartedContainer): Promise<void>;
  /** Test run beside the serving proxy, invisible to clients. */
  rehearsal(): Promise<Rehearsal>;
}

export interface Rehearsal {
  readonly spec: ProxyContainerSpec;
  /** @throws DomainError `setup.failed` when it does not serve as it should */
  check(container: StartedContainer, address: string): Promise<void>;
}

/** The container of an instance's proxy on a server. */
export interface ProxyContainer {
  /**
   * Starts it, or replaces one of another type or with other settings. The serving proxy is untouched until the image
   * exists and a rehearsal has served. Then both listen until the new one serves; if it does not, it is removed.
   *
   * @param options.isAnew Also replaces one that is up to date.
   * @returns Whether it was started or replaced now.
   */
  ensure(wanted: WantedProxy, options?: { readonly isAnew?: boolean | undefined }): Promise<boolean>;
  /** Joins the overlay networks of this instance's releases that it is not in. Idempotent. */
  joinOverlays(): Promise<void>;
  /** Idempotent. */
  remove(): Promise<void>;
  /** @param type Reported while no container exists. */
  status(type: ProxyType): Promise<ManagedProxyStatus>;
  /** `undefined` if no container exists, or if it was created before seats were introduced. */
  seat(): Promise<Seat | undefined>;
  /** Names the run of its program: another one after each start. `undefined` while it does not run. */
  run(): Promise<string | undefined>;
  /** A folder of it as tar; `undefined` if it or the folder does not exist. */
  archive(path: string): Promise<NodeJS.ReadableStream | undefined>;
}

export function proxyContainer(place: ProxyPlace): ProxyContainer {
  const { server, docker, instance } = place;
  const name = `berth-proxy-${instance.replace(/[^a-zA-Z0-9_.-]/g, "-")}`;
  const nextName = `${name}-next`;
  const rehearsalName = `${name}-rehearsal`;
  const { joinsOverlays = false, httpPort = 80, httpsPort = 443 } = place;
  const publishedPorts = joinsOverlays ? [httpPort, httpsPort] : undefined;
  const overlays = place.overlays ?? (() => overlaysOf(docker, instance));

  async function find(wantedName: string): Promise<Docker.ContainerInspectInfo | undefined> {
    try {
      return await docker.getContainer(wantedName).inspect();
    } catch (error) {
      if (statusCodeOf(error) === 404) return undefined;
      throw error;
    }
  }

  function own(found: Docker.ContainerInspectInfo): Docker.ContainerInspectInfo {
    const { [LABELS.instance]: owner, [LABELS.kind]: kind } = found.Config.Labels;
    if (owner === instance && (kind === KIND || kind === REHEARSAL_KIND)) return found;
    const message = `Server ${server} has a container ${found.Name.slice(1)} that does not belong to this Berth. Rename it, then start the proxy again.`;
    throw new DomainError("setup.failed", message);
  }

  const serving = async () => (await find(name)) ?? (await find(nextName));

  /** An interrupted replacement leaves two containers, or one under a temporary name. */
  async function settled(): Promise<Docker.ContainerInspectInfo | undefined> {
    const [main, next] = [await find(name), await find(nextName)];
    if (main !== undefined) own(main);
    if (next === undefined) return main;
    if (main?.State.Running) {
      await removeIt(own(next));
      return main;
    }
    if (main !== undefined) await removeIt(main);
    await nameLastingly(docker.getContainer(own(next).Id));
    return await serving();
  }

  /** The engine cannot rename a container in an overlay network: there, a replacement keeps the name that was free. */
  async function nameLastingly(container: Docker.Container): Promise<void> {
    if (!joinsOverlays) await container.rename({ name });
  }

  async function removeIt({ Id, State }: Pick<Docker.ContainerInspectInfo, "Id" | "State">): Promise<void> {
    const container = docker.getContainer(Id);
    if (State.Running) await ignoring([304, 404], container.stop({ t: STOP_SECONDS }));
    await ignoring([404, 409], container.remove({ force: true, v: true }));
  }

  async function create(options: ReturnType<typeof createOptions>): Promise<Docker.Container> {
    try {
      return await docker.createContainer(options);
    } catch (error) {
      if (statusCodeOf(error) !== 404) throw error;
      await pullOwnImage(place, options.Image);
      return await docker.createContainer(options);
    }
  }

  async function createFor(wanted: WantedProxy, seat: Seat): Promise<Docker.Container> {
    const version = versionOf(wanted.specFor("a"));
    const isFree = joinsOverlays && (await find(name)) === undefined;
    const named = { ...place, name: isFree ? name : nextName, version, seat, publishedPorts };
    const container = await create(createOptions(wanted.specFor(seat), named));
    if (joinsOverlays) await joinOverlays(docker, await container.inspect(), await overlays());
    return container;
  }

  const started = (container: Docker.Container, seat: Seat): StartedContainer => ({
    seat,
    state: () => wrapped(server, async () => stateOf(await container.inspect())),
    lastLines: () =>
      wrapped(server, async () =>
        textOf([await container.logs({ stdout: true, stderr: true, tail: 60, follow: false })]),
      ),
    output: (argv) =>
      wrapped(server, async () => {
        const exec = await container.exec({ Cmd: [...argv], AttachStdout: true, AttachStderr: true });
        return await textOf(await exec.start({ hijack: true, stdin: false }));
      }),
  });

  async function start(container: Docker.Container, seat: Seat, wanted: WantedProxy): Promise<void> {
    await ignoring([304], container.start());
    await wanted.untilServing(started(container, seat));
  }

  async function rehearse({ spec, check }: Rehearsal): Promise<void> {
    const before = await find(rehearsalName);
    if (before !== undefined) await removeIt(own(before));
    const container = await create(rehearsalOptions(spec, { ...place, name: rehearsalName }));
    try {
      await container.start();
      const { NetworkSettings } = await container.inspect();
      await check(started(container, "a"), NetworkSettings.Networks.bridge?.IPAddress ?? "");
    } finally {
      await ignoring([404, 409], container.remove({ force: true, v: true }));
    }
  }

  /** Starts it when no serving proxy could be lost. */
  async function begin(before: Docker.ContainerInspectInfo | undefined, wanted: WantedProxy): Promise<void> {
    const next = await createFor(wanted, "a");
    if (before !== undefined) await removeIt(before);
    await nameLastingly(next);
    await wanted.prepare();
    await start(next, "a", wanted);
  }

  async function replace(current: Docker.ContainerInspectInfo, wanted: WantedProxy): Promise<void> {
    await rehearse(await wanted.rehearsal());
    const seat = seatOf(current) === "a" ? "b" : "a";
    const next = await createFor(wanted, seat);
    try {
      await wanted.prepare();
      await start(next, seat, wanted).catch(async (error: unknown) => {
        if (!isAllocated(error) && !(await isPortTaken(started(next, seat)))) throw error;
        await takeOver(current, next, seat, wanted);
      });
    } catch (error) {
      await ignoring([404, 409], next.remove({ force: true, v: true }));
      throw error;
    }
    await removeIt(current);
    await nameLastingly(next);
  }

  /** If the two cannot share ports, the serving one stops first, and starts again if the other fails. */
  async function takeOver(
    current: Docker.ContainerInspectInfo,
    next: Docker.Container,
    seat: Seat,
    wanted: WantedProxy,
  ): Promise<void> {
    const old = docker.getContainer(current.Id);
    await ignoring([304], next.stop({ t: 0 }));
    await ignoring([304], old.stop({ t: HURRIED_STOP_SECONDS }));
    try {
      await start(next, seat, wanted);
    } catch (error) {
      await ignoring([304], next.stop({ t: 0 }));
      await ignoring([304], old.start());
      throw error;
    }
  }

  return {
    ensure: (wanted, { isAnew = false } = {}) =>
      wrapped(server, async () => {
        const current = await settled();
        if (current === undefined) {
          await begin(undefined, wanted);
          return true;
        }
        const { State, Config, HostConfig, Id } = current;
        const isPlaced = joinsOverlays === (HostConfig.NetworkMode !== "host");
        // Docker waits longer before each restart; a new container starts at once.
        const isUsable =
          isPlaced && Config.Labels[LABELS.version] === versionOf(wanted.specFor("a")) && !State.Restarting;
        const isServing = State.Running && !State.Restarting;
        if (isUsable && isServing && !isAnew) return false;
        if (isUsable && !isServing) {
          await wanted.prepare();
          await start(docker.getContainer(Id), seatOf(current) ?? "a", wanted);
        } else if (isServing) await replace(current, wanted);
        else await begin(current, wanted);
        return true;
      }),
    joinOverlays: () =>
      wrapped(server, async () => {
        const found = await serving();
        if (found !== undefined) await joinOverlays(docker, own(found), await overlays());
      }),
    archive: (path) =>
      wrapped(server, async () => {
        const found = await serving();
        try {
          return found && (await docker.getContainer(own(found).Id).getArchive({ path }));
        } catch (error) {
          if (statusCodeOf(error) === 404) return undefined;
          throw error;
        }
      }),
    remove: () =>
      wrapped(server, async () => {
        for (const one of [name, nextName, rehearsalName]) {
          const existing = await find(one);
          if (existing !== undefined) await removeIt(own(existing));
        }
      }),
    status: (type) => wrapped(server, async () => statusOf(type, await serving())),
    run: () =>
      wrapped(server, async () => {
        const found = await serving();
        return found?.State.Running ? `${found.Id} ${found.State.StartedAt}` : undefined;
      }),
    seat: () =>
      wrapped(server, async () => {
        const found = await serving();
        return found && seatOf(found);
      }),
  };
}

/**
 * Waits until the proxy in a container serves.
 * @throws DomainError `setup.failed` with the last error in its log
 */
export async function untilServing(
  server: string,
  container: StartedContainer,
  isServing: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + START_SECONDS_MAX * 1000;
  while (!(await isServing())) {
    const state = await container.state();
    if (state !== "running" || performance.now() > deadline) {
      const message = `The proxy of server ${server} does not start: ${lastError(await container.lastLines())}`;
      throw new DomainError("setup.failed", message);
    }
    await delay(50);
  }
}

/** Last error in a log of JSON lines; a fatal error is the last line, in plain text. */
function lastError(lines: string): string {
  const said = lines.split("\n").filter((line) => line.trim() !== "");
  const line = said.findLast((text) => text.startsWith("Error: ")) ?? said.at(-1) ?? "it said nothing.";
  return line.replace(/^Error: /, "").slice(0, 500);
}

const START_SECONDS_MAX = 20;
/** No requests are served meanwhile. */
const HURRIED_STOP_SECONDS = 1;

const isPortTaken = async (container: StartedContainer) =>
  /address already in use/.test(await container.lastLines().catch(() => ""));

/** The engine publishes a port for one container at a time. */
const isAllocated = (error: unknown): boolean =>
  error instanceof Error && /port is already allocated/.test(error.message);

async function wrapped<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw engineError(server, error);
  }
}

async function ignoring(statusCodes: readonly number[], work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!statusCodes.includes(statusCodeOf(error) ?? 0)) throw error;
  }
}

function seatOf({ Config }: Docker.ContainerInspectInfo): Seat | undefined {
  const seat = Config.Labels[SEAT_LABEL];
  return seat === "a" || seat === "b" ? seat : undefined;
}

function statusOf(type: ProxyType, found: Docker.ContainerInspectInfo | undefined): ManagedProxyStatus {
  if (found === undefined) return { type, state: "absent", image: null, startedAt: null, restartCount: 0 };
  const { State, Config, RestartCount } = found;
  const startedAt = State.Running ? new Date(State.StartedAt) : null;
  const ownType = PROXY_TYPES.find((one) => one.toLowerCase() === Config.Labels[LABELS.name]) ?? type;
  return { type: ownType, state: stateOf(found), image: Config.Image, startedAt, restartCount: RestartCount };
}

const stateOf = ({ State }: Docker.ContainerInspectInfo) =>
  State.Restarting ? "restarting" : State.Running ? "running" : "exited";

async function textOf(chunks: AsyncIterable<Uint8Array | string> | readonly Buffer[]): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const { bytes } of readFrames(Readable.from(chunks))) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}
