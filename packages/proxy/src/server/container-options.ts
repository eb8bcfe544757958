import { createHash } from "node:crypto";
import type { ProxyType } from "@berth/core/ports";
import { LABELS, ownedLabels } from "@berth/docker-client";

export interface ProxyMount {
  /** A folder on the server; `null` means memory that is lost with the container. */
  readonly source: string | null;
  readonly target: string;
  readonly isReadOnly: boolean;
}

export interface ProxyContainerSpec {
  readonly type: ProxyType;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly ProxyMount[];
}

/** Fingerprint of what a container is made from. */
export const versionOf = (spec: ProxyContainerSpec): string =>
  createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16);

interface Named {
  readonly instance: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly name: string;
  readonly version: string;
  readonly seat: Seat;
  /** It has a network of its own, with these ports of the server. */
  readonly publishedPorts?: readonly number[] | undefined;
}

/**
 * While two containers overlap they have different seats: separate folders for data that only one may use.
 */
export const SEATS = ["a", "b"] as const;
export type Seat = (typeof SEATS)[number];

/**
 * Uses the server's own network: it reaches every container by address, without joining networks. The networks of a
 * swarm cannot be reached from there: for those its ports are published, and it joins each.
 */
export function createOptions(spec: ProxyContainerSpec, named: Named) {
  const { name, version, seat, instance, labels, publishedPorts } = named;
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
      [SEAT_LABEL]: seat,
    },
    StopTimeout: STOP_SECONDS,
    ...(publishedPorts === undefined ? {} : { ExposedPorts: byPort(publishedPorts, () => ({})) }),
    HostConfig: {
      ...(publishedPorts === undefined
        ? { NetworkMode: "host" }
        : { NetworkMode: "bridge", PortBindings: byPort(publishedPorts, (port) => [{ HostPort: String(port) }]) }),
      RestartPolicy: { Name: "unless-stopped" },
      ReadonlyRootfs: true,
      // To listen below port 1024, and to read folders of the login user if that is not root.
      CapDrop: ["ALL"],
      CapAdd: ["NET_BIND_SERVICE", "DAC_OVERRIDE"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
      Mounts: spec.mounts.map(mountOf),
    },
  };
}

/** HTTP/3 uses UDP. */
const byPort = <T>(ports: readonly number[], of: (port: number) => T): Record<string, T> =>
  Object.fromEntries(ports.flatMap((port) => ["tcp", "udp"].map((protocol) => [`${port}/${protocol}`, of(port)])));

/**
 * A rehearsal has its own network, where its ports are free and no client connects, and writes only to memory, so
 * it cannot disturb the serving proxy.
 */
export function rehearsalOptions(spec: ProxyContainerSpec, named: Omit<Named, "version" | "seat">) {
  const mounts = spec.mounts.map((mount) => (mount.isReadOnly ? mount : { ...mount, source: null }));
  const { HostConfig, ...rest } = createOptions({ ...spec, mounts }, { ...named, version: "rehearsal", seat: "a" });
  return {
    ...rest,
    Labels: { ...rest.Labels, [LABELS.kind]: REHEARSAL_KIND },
    HostConfig: { ...HostConfig, NetworkMode: "bridge", RestartPolicy: { Name: "no" } },
  };
}

function mountOf({ source, target, isReadOnly }: ProxyMount) {
  return source === null
    ? { Type: "tmpfs" as const, Source: "", Target: target }
    : { Type: "bind" as const, Source: source, Target: target, ReadOnly: isReadOnly };
}

export const SEAT_LABEL = "berth.seat";
export const KIND = "proxy";
export const REHEARSAL_KIND = "proxy-rehearsal";
/** Longer requests are cut when the proxy is stopped or replaced. */
export const STOP_SECONDS = 5;
