import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import type { ManagedProxyStatus, ProxyType } from "@berth/core/ports";
import { engineError, LABELS, ownedLabels, pullOwnImage, readFrames, statusCodeOf } from "@berth/docker-client";
import type { Argv } from "@berth/host";
import type Docker from "dockerode";

/** Server and engine of a proxy's container. */
export interface ProxyPlace {
  readonly server: string;
  readonly docker: Docker;
  /** Id of the Berth instance, since several may share an engine. */
  readonly instance: string;
  /** Additional labels of the container. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface ProxyContainerSpec {
  readonly type: ProxyType;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly isReadOnly: boolean }[];
}

/** The container of an instance's proxy on a server. */
export interface ProxyContainer {
  /**
   * Starts the container, and replaces one of another type or with other settings. @returns Whether it was started
   * now.
   */
  ensure(spec: ProxyContainerSpec): Promise<boolean>;
  /** Removes the container. Idempotent. */
  remove(): Promise<void>;
  status(type: ProxyType): Promise<ManagedProxyStatus>;
  /** The last lines of its log. */
  lastLines(): Promise<string>;
  /** Output of a program that is run in the container. */
  output(argv: Argv): Promise<string>;
}

export function proxyContainer(place: ProxyPlace): ProxyContainer {
  const { server, docker, instance } = place;
  const name = `berth-proxy-${instance.replace(/[^a-zA-Z0-9_.-]/g, "-")}`;

  async function find(): Promise<Docker.ContainerInspectInfo | undefined> {
    try {
      return await docker.getContainer(name).inspect();
    } catch (error) {
      if (statusCodeOf(error) === 404) return undefined;
      throw error;
    }
  }

  function own(found: Docker.ContainerInspectInfo): Docker.ContainerInspectInfo {
    if (found.Config.Labels[LABELS.instance] === instance && found.Config.Labels[LABELS.kind] === KIND) return found;
    const message = `Server ${server} has a container ${name} that is not Berth's. Rename it, and start the proxy again.`;
    throw new DomainError("setup.failed", message);
  }

  async function removeIt({ Id, State }: Docker.ContainerInspectInfo): Promise<void> {
    const container = docker.getContainer(Id);
    if (State.Running) await ignoring([304, 404], container.stop({ t: STOP_SECONDS }));
    await ignoring([404, 409], container.remove({ force: true, v: true }));
  }

  async function create(spec: ProxyContainerSpec, version: string): Promise<Docker.Container> {
    const wanted = { ...createOptions(spec, { ...place, name, version }) };
    try {
      return await docker.createContainer(wanted);
    } catch (error) {
      if (statusCodeOf(error) !== 404) throw error;
      await pullOwnImage(place, spec.image);
      return await docker.createContainer(wanted);
    }
  }

  return {
    ensure: (spec) =>
      wrapped(server, async () => {
        const version = digestOf(spec);
        const existing = await find();
        if (existing !== undefined) {
          const { State, Config } = own(existing);
          // A restarting container waits longer each time; a new one starts at once.
          const isUsable = Config.Labels[LABELS.version] === version && !State.Restarting;
          if (isUsable && State.Running) return false;
          if (isUsable) {
            await ignoring([304], docker.getContainer(existing.Id).start());
            return true;
          }
          await removeIt(existing);
        }
        await ignoring([304], (await create(spec, version)).start());
        return true;
      }),
    remove: () =>
      wrapped(server, async () => {
        const existing = await find();
        if (existing !== undefined) await removeIt(own(existing));
      }),
    status: (type) => wrapped(server, async () => statusOf(type, await find())),
    lastLines: () =>
      wrapped(server, async () => {
        const lines = await docker.getContainer(name).logs({ stdout: true, stderr: true, tail: 20, follow: false });
        return await textOf([lines]);
      }),
    output: (argv) =>
      wrapped(server, async () => {
        const options = { Cmd: [...argv], AttachStdout: true, AttachStderr: true };
        const exec = await docker.getContainer(name).exec(options);
        return await textOf(await exec.start({ hijack: true, stdin: false }));
      }),
  };
}

const KIND = "proxy";
/** Longer requests are interrupted when the proxy itself is stopped or replaced. */
const STOP_SECONDS = 5;

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

const digestOf = (spec: ProxyContainerSpec) =>
  createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16);

type Named = ProxyPlace & { readonly name: string; readonly version: string };

/** In the host's network: it reaches all containers by address, without joining their networks. */
export function createOptions(spec: ProxyContainerSpec, { name, version, instance, labels }: Named) {
  return {
    name,
    Image: spec.image,
    Cmd: [...spec.command],
    Env: Object.entries(spec.env).map(([key, value]) => `${key}=${value}`),
    Labels: {
      ...labels,
      ...ownedLabels(instance),
      [LABELS.kind]: KIND,
      [LABELS.name]: spec.type.toLowerCase(),
      [LABELS.version]: version,
    },
    StopTimeout: STOP_SECONDS,
    HostConfig: {
      NetworkMode: "host",
      RestartPolicy: { Name: "unless-stopped" },
      ReadonlyRootfs: true,
      // Needed for ports below 1024, and for folders of a server's login that is not root.
      CapDrop: ["ALL"],
      CapAdd: ["NET_BIND_SERVICE", "DAC_OVERRIDE"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
      Mounts: spec.mounts.map(({ source, target, isReadOnly }) => ({
        Type: "bind" as const,
        Source: source,
        Target: target,
        ReadOnly: isReadOnly,
      })),
    },
  };
}

function statusOf(type: ProxyType, found: Docker.ContainerInspectInfo | undefined): ManagedProxyStatus {
  if (found === undefined) return { type, state: "absent", image: null, startedAt: null, restartCount: 0 };
  const { State, Config, RestartCount } = found;
  const state = State.Restarting ? "restarting" : State.Running ? "running" : "exited";
  const startedAt = State.Running ? new Date(State.StartedAt) : null;
  return { type, state, image: Config.Image, startedAt, restartCount: RestartCount };
}

async function textOf(chunks: AsyncIterable<Uint8Array | string> | readonly Buffer[]): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const { bytes } of readFrames(Readable.from(chunks))) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}
