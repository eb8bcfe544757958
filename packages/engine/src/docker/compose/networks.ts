import { createHash } from "node:crypto";
import {
  type ComposeDocument,
  type ComposeService,
  isCutOff,
  isExternal,
  isOn,
  type JoinedNetworks,
  recordOf,
  serviceNetworks,
} from "@berth/core/compose";
import type { StackContainer } from "@berth/core/deploy";
import { LABELS, labelOf } from "@berth/docker-client";
import type Docker from "dockerode";
import { sorted } from "./fingerprint.ts";
import { type StackSpec, scopeOf } from "./spec.ts";
import { userLabels } from "./values.ts";

/** A network that Berth creates for a stack before the start. */
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
  /** Its key in the compose file; `null`: the default network of all containers. */
  readonly key: string | null;
}

interface StackNetworks {
  readonly document: Readonly<Record<string, { readonly name: string; readonly external: true }>>;
  readonly wanted: readonly WantedNetwork[];
  /** The `networks` section of a service. */
  of(service: ComposeService, own: StackContainer | undefined): object;
  /** Fingerprints of the networks that a service joins and that the compose file defines. */
  marksOf(service: ComposeService): readonly string[];
  /** Aliases of a service in the server's networks that the resource joins; `undefined`: it joins none of them. */
  sharedNames(service: ComposeService, own: StackContainer | undefined): readonly string[] | undefined;
}

/**
 * The networks of a stack: a common one for all containers except those without outside access, and those that the
 * compose file defines. They are named after the resource, so the next deployment finds them.
 *
 * The server's own networks are not joined by the compose tool: it would add each service's key as an alias, so that
 * `db` of one resource would be found by containers of another.
 */
export function stackNetworks(spec: StackSpec, document: ComposeDocument): StackNetworks {
  const scope = scopeOf(spec);
  const defined = Object.entries({ ...impliedNetworks(document), ...document.networks });
  const external = defined.filter(([, network]) => isExternal(network));
  const own = defined.filter(([, network]) => !isExternal(network));
  const plain = wantedNetwork(scope, null, {});
  const made = own.map(([key, network]) => wantedNetwork(`${scope}_${key}`, key, recordOf(network)));
  return {
    wanted: [plain, ...made],
    document: Object.fromEntries([
      ...own.map(([key]) => [key, { name: `${scope}_${key}`, external: true }] as const),
      ...external.map(([key, network]) => [key, { name: network?.name ?? key, external: true }] as const),
      [scope, { name: scope, external: true }],
    ]),
    of(service, container) {
      if (service.network_mode) return {};
      const said = serviceNetworks(service, document);
      const takesRequests = (container?.ports ?? []).length > 0;
      const joined = isCutOff(said, document, takesRequests) ? said : { [scope]: null, ...said };
      return { networks: joinedBy(service, container, joined) };
    },
    marksOf(service) {
      const said = service.network_mode ? {} : serviceNetworks(service, document);
      const marks = made.flatMap((network) => (Object.hasOwn(said, network.key ?? "") ? [networkMark(network)] : []));
      return marks.filter((mark) => mark !== networkMark(plain));
    },
    sharedNames: (service, container) =>
      service.network_mode || spec.stack.networks.length === 0 ? undefined : (container?.networkAliases ?? []),
  };
}

/** Adds the implicit default network where it is used: the compose tool would create it without labels. */
function impliedNetworks({ services }: ComposeDocument): NonNullable<ComposeDocument["networks"]> {
  const isAsked = Object.values(services).some(({ networks }) =>
    Array.isArray(networks) ? networks.includes("default") : "default" in recordOf(networks),
  );
  return isAsked ? { default: null } : {};
}

function joinedBy(service: ComposeService, container: StackContainer | undefined, said: JoinedNetworks): object {
  const name = typeof service.container_name === "string" ? [service.container_name] : [];
  const aliases = [...name, ...(container?.networkAliases ?? [])];
  return Object.fromEntries(
    Object.entries(said).map(([key, value]) => {
      const options = recordOf(value);
      const own = Array.isArray(options.aliases) ? options.aliases : [];
      return [key, { ...options, aliases: [...new Set([...own, ...aliases])] }];
    }),
  );
}

/** Hash of a network's definition without its name. */
export function networkMark({ name: _n, key: _k, ...definition }: WantedNetwork): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(definition)))
    .digest("hex")
    .slice(0, MARK_LENGTH);
}

const MARK_LENGTH = 12;

/**
 * Engines cannot change an existing network. When its definition has changed, a new one is created, with the
 * definition's fingerprint in its name, beside the one that the previous release uses.
 * @param separator Between the name and the fingerprint.
 * @returns New names by old ones, only for networks that get a new name.
 */
export async function renamedNetworks(
  docker: Docker,
  wanted: readonly WantedNetwork[],
  separator = ".",
): Promise<{ readonly names: ReadonlyMap<string, string>; readonly lines: readonly string[] }> {
  const names = new Map<string, string>();
  const lines: string[] = [];
  for (const network of wanted) {
    if (network.key === null) continue;
    const mark = networkMark(network);
    const other = `${network.name}${separator}${mark}`;
    const there = await docker.listNetworks({ filters: { name: [network.name] } });
    const [found, foundOther] = [network.name, other].map((name) => there.find(({ Name }) => Name === name));
    const foundMark = labelOf(found?.Labels, LABELS.spec);
    // Containers in the renamed network stay there, even after the older network was removed.
    const isChanged = foundOther === undefined && foundMark !== undefined && foundMark !== mark;
    if (foundOther !== undefined || isChanged) names.set(network.name, other);
    if (isChanged) lines.push(`Creates the network ${network.key} anew, since its definition has changed`);
  }
  return { names, lines };
}

function wantedNetwork(name: string, key: string | null, said: Readonly<Record<string, unknown>>): WantedNetwork {
  const options = Object.entries(recordOf(said.driver_opts)).map(([key, value]) => [key, String(value)]);
  return {
    name,
    key,
    isInternal: isOn(said.internal),
    isIpv6: isOn(said.enable_ipv6),
    isIpv4: said.enable_ipv4 == null || isOn(said.enable_ipv4),
    isAttachable: isOn(said.attachable),
    labels: userLabels(said.labels),
    driver: typeof said.driver === "string" ? said.driver : "bridge",
    driverOptions: Object.fromEntries(options),
    ipam: said.ipam == null ? undefined : recordOf(said.ipam),
  };
}
