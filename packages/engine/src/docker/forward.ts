import { DomainError, isDomainError } from "@berth/core";
import type { FileMount } from "@berth/core/deploy";
import type { Forward, Forwarder, PresentForward } from "@berth/core/ports";
import {
  engineError,
  LABELS,
  labelFilter,
  ownedLabels,
  pullOwnImage,
  reasonOf,
  statusCodeOf,
} from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerCreateOptions } from "dockerode";
import { z } from "zod";
import { putFiles } from "./files.ts";
import { ensureNetwork, type NetworkMore } from "./networks.ts";
import { removeContainer } from "./start.ts";
import { isPortTaken } from "./taken-port.ts";

export interface DockerForwarderOptions {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
  readonly instance: string;
  /** For a network that is created. */
  readonly networkOptions?: NetworkMore | undefined;
  /** An nginx image with the module `stream`. */
  readonly image?: string | undefined;
}

const IMAGE = "nginx:alpine";
const ROLE = "forward";
/** Version of the containers' configuration: increase it to recreate them. */
const VERSION = 2;
const CONFIGURATION_PATH = "/etc/berth/forward.conf";

/** Runs each forward as a small nginx container. */
export function dockerForwarder(options: DockerForwarderOptions): Forwarder {
  const { docker, server, instance, image = IMAGE } = options;
  const labels = { ...ownedLabels(instance), [LABELS.role]: ROLE };

  const containersOf = (own: Readonly<Record<string, string>>) =>
    docker.listContainers({ all: true, filters: { ...labelFilter({ ...labels, ...own }) } });

  const create = async (wanted: ContainerCreateOptions): Promise<Docker.Container> => {
    try {
      return await docker.createContainer(wanted);
    } catch (cause) {
      if (statusCodeOf(cause) !== 404) throw cause;
      await pullOwnImage({ docker, server }, image);
      return await docker.createContainer(wanted);
    }
  };

  const open = async (forward: Forward): Promise<void> => {
    await ensureNetwork(docker, forward.network, instance, options.networkOptions);
    const container = await create(createOptions(forward, { image, labels }));
    try {
      await putFiles(container, [configurationFile(forward)], USER);
      await container.start();
    } catch (cause) {
      await removeContainer(container).catch(() => undefined);
      throw explained(cause, server, forward);
    }
  };

  const close = async (resourceUuid: string): Promise<void> => {
    const found = await containersOf({ [LABELS.resource]: resourceUuid });
    await Promise.all(found.map(({ Id }) => removeContainer(docker.getContainer(Id))));
  };

  const wrapped = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw isDomainError(cause) ? cause : engineError(server, cause);
    }
  };

  return {
    list: () => wrapped(containersOf({}).then((found) => found.map(presentOf))),
    open: (forward) => wrapped(open(forward)),
    close: (resourceUuid) => wrapped(close(resourceUuid)),
  };
}

const Recorded = z.object({
  version: z.literal(VERSION),
  resourceUuid: z.string(),
  publicPort: z.int(),
  network: z.string(),
  host: z.string(),
  port: z.int(),
  idleSeconds: z.int(),
  isLoopback: z.boolean().optional(),
});

function presentOf({ Labels, State }: Docker.ContainerInfo): PresentForward {
  return {
    resourceUuid: Labels[LABELS.resource] ?? "",
    forward: recordedIn(Labels[LABELS.spec] ?? ""),
    isRunning: State === "running",
  };
}

/** `undefined`: written by another version. */
function recordedIn(label: string): Forward | undefined {
  try {
    const { version: _version, isLoopback, ...forward } = Recorded.parse(JSON.parse(label));
    return { ...forward, ...(isLoopback === undefined ? {} : { isLoopback }) };
  } catch {
    return undefined;
  }
}

interface ForwardPlace {
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The user nobody on any Linux: nginx here needs only its own files and ports from 1024. */
const USER = "65534:65534";

function createOptions(forward: Forward, { image, labels }: ForwardPlace): ContainerCreateOptions {
  const { resourceUuid, publicPort, network, port, isLoopback } = forward;
  const address = isLoopback === true ? { HostIp: "127.0.0.1" } : {};
  return {
    name: `berth-forward-${resourceUuid}`,
    Image: image,
    Entrypoint: ["nginx"],
    // Without `-e`, nginx first tries its default log file and prints a warning.
    Cmd: ["-c", CONFIGURATION_PATH, "-e", "stderr"],
    User: USER,
    Labels: {
      ...labels,
      [LABELS.resource]: resourceUuid,
      [LABELS.kind]: ROLE,
      [LABELS.name]: `port ${publicPort}`,
      [LABELS.spec]: JSON.stringify({ version: VERSION, ...forward }),
    },
    ExposedPorts: { [`${port}/tcp`]: {} },
    HostConfig: {
      NetworkMode: network,
      RestartPolicy: { Name: "unless-stopped" },
      Init: true,
      PortBindings: { [`${port}/tcp`]: [{ ...address, HostPort: String(publicPort) }] },
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      PidsLimit: 64,
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
    },
  };
}

const configurationFile = (forward: Forward): FileMount => ({
  type: "file",
  uuid: forward.resourceUuid,
  name: "forward",
  mountPath: CONFIGURATION_PATH,
  content: configurationOf(forward),
});

/**
 * The name is resolved repeatedly, so that whichever release has it is reached. Debian's nginx loads the module from
 * the folder `modules-enabled`; elsewhere the folder does not exist.
 */
export const configurationOf = ({
  host,
  port,
  idleSeconds,
}: Forward): string => `include /etc/nginx/modules-enabled/*.conf;
daemon off;
worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
stream {
  resolver 127.0.0.11 valid=2s ipv6=off;
  resolver_timeout 5s;
  map $remote_addr $target { default "${host}:${port}"; }
  server {
    listen ${port} so_keepalive=on;
    proxy_pass $target;
    proxy_connect_timeout 10s;
    proxy_timeout ${idleSeconds}s;
    proxy_socket_keepalive on;
  }
}
`;

function explained(cause: unknown, server: string, { publicPort }: Forward): unknown {
  if (!(cause instanceof Error) || !isPortTaken(reasonOf(cause))) return cause;
  const message = `Port ${publicPort} of server ${server} is taken by something else. Free it, or choose another public_port.`;
  return new DomainError("port.taken", message, { cause });
}
