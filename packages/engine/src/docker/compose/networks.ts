import type { ComposeDocument, ComposeService, StackContainer } from "@berth/core";
import { type StackSpec, scopeOf } from "./spec.ts";
import { recordOf, userLabels } from "./values.ts";

/** A network that Berth makes for a stack before it starts. */
export interface WantedNetwork {
  readonly name: string;
  readonly isInternal: boolean;
  readonly isIpv6: boolean;
  readonly isIpv4: boolean;
  readonly isAttachable: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly driver: string;
  readonly driverOptions: Readonly<Record<string, string>>;
  readonly ipam: Readonly<Record<string, unknown>> | undefined;
}

interface StackNetworks {
  readonly document: Readonly<Record<string, unknown>>;
  readonly wanted: readonly WantedNetwork[];
  /** What a service is told of them. */
  of(service: ComposeService, own: StackContainer | undefined): object;
}

/**
 * The networks of a stack: one that all of its containers join, those that the text defines, and those of the server
 * that were asked for. Their names are the resource's, so its next deployment finds them.
 */
export function stackNetworks(spec: StackSpec, document: ComposeDocument): StackNetworks {
  const scope = scopeOf(spec);
  const defined = Object.entries({ ...impliedNetworks(document), ...document.networks });
  const external = defined.filter(([, network]) => network?.external);
  const own = defined.filter(([, network]) => !network?.external);
  const joined = [scope, ...spec.stack.networks];
  return {
    wanted: [plain(scope), ...own.map(([key, network]) => wantedNetwork(`${scope}_${key}`, recordOf(network)))],
    document: Object.fromEntries([
      ...own.map(([key]) => [key, { name: `${scope}_${key}`, external: true }] as const),
      ...external.map(([key, network]) => [key, { name: network?.name ?? key, external: true }] as const),
      ...joined.map((name) => [name, { name, external: true }] as const),
    ]),
    of: (service, container) => (service.network_mode ? {} : { networks: joinedBy(service, container, joined) }),
  };
}

/** What the compose tool would make by itself, and nobody would take away: the default network, where one asks for it. */
function impliedNetworks({ services }: ComposeDocument): NonNullable<ComposeDocument["networks"]> {
  const isAsked = Object.values(services).some(({ networks }) =>
    Array.isArray(networks) ? networks.includes("default") : "default" in recordOf(networks),
  );
  return isAsked ? { default: null } : {};
}

function joinedBy(service: ComposeService, container: StackContainer | undefined, joined: readonly string[]): object {
  const said = Array.isArray(service.networks)
    ? Object.fromEntries(service.networks.map((name) => [name, null]))
    : (service.networks ?? {});
  const name = typeof service.container_name === "string" ? [service.container_name] : [];
  const aliases = [...name, ...(container?.networkAliases ?? [])];
  return Object.fromEntries(
    Object.entries({ ...Object.fromEntries(joined.map((key) => [key, null])), ...said }).map(([key, value]) => {
      const options = recordOf(value);
      const own = Array.isArray(options.aliases) ? options.aliases : [];
      return [key, { ...options, aliases: [...new Set([...own, ...aliases])] }];
    }),
  );
}

const plain = (name: string): WantedNetwork => wantedNetwork(name, {});

function wantedNetwork(name: string, said: Readonly<Record<string, unknown>>): WantedNetwork {
  const options = Object.entries(recordOf(said.driver_opts)).map(([key, value]) => [key, String(value)]);
  return {
    name,
    isInternal: isTrue(said.internal),
    isIpv6: isTrue(said.enable_ipv6),
    isIpv4: said.enable_ipv4 == null || isTrue(said.enable_ipv4),
    isAttachable: isTrue(said.attachable),
    labels: userLabels(said.labels),
    driver: typeof said.driver === "string" ? said.driver : "bridge",
    driverOptions: Object.fromEntries(options),
    ipam: said.ipam == null ? undefined : recordOf(said.ipam),
  };
}

const isTrue = (value: unknown): boolean => value === true || value === "true";
