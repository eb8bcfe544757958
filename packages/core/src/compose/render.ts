import { stringify } from "yaml";
import type { ServiceSettings } from "../service.ts";
import type { EnvironmentEntry } from "./environment.ts";
import type { Compose } from "./parse.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";
import { volumeName } from "./storages.ts";

export interface RenderOptions {
  readonly uuid: string;
  readonly settings: ServiceSettings;
  /** Network of the service's destination. */
  readonly network: string;
}

/**
 * The compose file as it is started: each container named `<its name>-<uuid>`, in a network of the service's own, with
 * volumes that no other service shares. What else it says stays.
 */
export function renderCompose(compose: Compose, { uuid, settings, network }: RenderOptions): string {
  const { document, environments } = compose;
  const networks = settings.connect_to_docker_network ? [uuid, network] : [uuid];
  const names = containerNameVariables(Object.keys(document.services));
  const services = Object.entries(compose.document.services).map(([name, service]) => {
    const { exclude_from_hc: _, ...rest } = service;
    return [
      name,
      {
        ...rest,
        container_name: `${name}-${uuid}`,
        restart: service.restart === false ? "no" : (service.restart ?? "unless-stopped"),
        environment: { ...environmentMap(environments.get(name) ?? []), ...names },
        ...(service.network_mode ? {} : { networks: withNetworks(service.networks, networks) }),
        ...(service.labels === undefined ? {} : { labels: labelsOf(service.labels, settings) }),
        ...(service.volumes ? { volumes: service.volumes.map(plainVolume) } : {}),
      },
    ] as const;
  });
  return stringify(
    {
      ...document,
      services: Object.fromEntries(services),
      volumes: namedVolumes(document, uuid),
      networks: {
        ...document.networks,
        [uuid]: { name: uuid },
        ...(settings.connect_to_docker_network ? { [network]: { name: network, external: true } } : {}),
      },
    },
    { aliasDuplicateObjects: false, lineWidth: 0 },
  );
}

/** `SERVICE_NAME_MY_DB`: how one container reaches another. */
export const containerNameVariables = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [`SERVICE_NAME_${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`, name]));

const environmentMap = (entries: readonly EnvironmentEntry[]) =>
  Object.fromEntries(entries.map(({ key, value }) => [key, value]));

function withNetworks(own: ComposeService["networks"], added: readonly string[]) {
  const named = Array.isArray(own) ? Object.fromEntries(own.map((name) => [name, null])) : (own ?? {});
  return { ...named, ...Object.fromEntries(added.map((name) => [name, null])) };
}

/** The compose tool reads `$` as the beginning of a variable, which `$$` is not. */
function labelsOf(labels: unknown, { is_container_label_escape_enabled }: ServiceSettings): unknown {
  if (!is_container_label_escape_enabled) return labels;
  const escaped = (value: unknown) => (typeof value === "string" ? value.replaceAll("$", "$$$$") : value);
  if (Array.isArray(labels)) return labels.map(escaped);
  if (typeof labels !== "object" || labels === null) return labels;
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, escaped(value)]));
}

/** Without what the compose specification does not know. */
function plainVolume(volume: NonNullable<ComposeService["volumes"]>[number]) {
  if (typeof volume === "string") return volume;
  const { content: _c, is_directory: _d, isDirectory: _i, ...rest } = volume;
  return rest;
}

function namedVolumes(document: ComposeDocument, uuid: string) {
  const entries = Object.entries(document.volumes ?? {});
  return Object.fromEntries(
    entries.map(([name, volume]) => [name, { ...volume, name: volumeName(name, document, uuid) }]),
  );
}
