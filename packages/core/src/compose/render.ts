import { stringify } from "yaml";
import type { ServiceSettings } from "../service/service.ts";
import { containerPort } from "./container-port.ts";
import type { EnvironmentEntry } from "./environment.ts";
import { isCutOff, saidNetworks } from "./joined-networks.ts";
import type { Compose, ComposeContainer } from "./parse.ts";
import { recordOf } from "./record.ts";
import { replicasOf } from "./replicas.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";
import { volumeName } from "./storages.ts";

export interface RenderOptions {
  readonly uuid: string;
  readonly settings: ServiceSettings;
  /** Network of the service's destination. */
  readonly network: string;
}

/**
 * The compose file as it is started: each container named `<its name>-<uuid>`, in a network of the service's own unless
 * it shall not get outside, with volumes that no other service shares. What else it says stays.
 */
export function renderCompose(compose: Compose, { uuid, settings, network }: RenderOptions): string {
  const { document, environments } = compose;
  const networksOf = (container: ComposeContainer, service: ComposeService) => {
    const said = saidNetworks(service, document);
    const takesRequests = containerPort(container, compose.urls) !== null;
    const added = [
      ...(isCutOff(said, document, takesRequests) ? [] : [uuid]),
      ...(settings.connect_to_docker_network ? [network] : []),
    ];
    return { ...said, ...Object.fromEntries(added.map((name) => [name, null])) };
  };
  const names = containerNameVariables(Object.keys(document.services));
  const services = compose.containers.map((container) => {
    const { name } = container;
    const service = document.services[name] ?? {};
    const { exclude_from_hc: _, container_name: _c, networks: _n, env_file, label_file: _l, ...rest } = service;
    return [
      name,
      {
        ...rest,
        // The compose tool numbers the containers of several.
        ...(isAlone(name, document) ? { container_name: `${name}-${uuid}` } : {}),
        // A file of the source, which lies in no folder where this text is read.
        ...(env_file == null ? {} : { env_file: [env_file].flat().map(optionalFile) }),
        restart: service.restart === false ? "no" : (service.restart ?? "unless-stopped"),
        environment: { ...environmentMap(environments.get(name) ?? []), ...names },
        ...(service.network_mode ? {} : { networks: networksOf(container, service) }),
        ...(service.labels === undefined ? {} : { labels: labelsOf(service.labels, settings) }),
        ...(service.volumes ? { volumes: service.volumes.map(plainVolume) } : {}),
      },
    ] as const;
  });
  return written({
    ...document,
    services: Object.fromEntries(services),
    volumes: namedVolumes(compose, uuid),
    networks: {
      ...document.networks,
      [uuid]: { name: uuid },
      ...(settings.connect_to_docker_network ? { [network]: { name: network, external: true } } : {}),
    },
  });
}

/** JSON is YAML too, and is written thirty times as fast: of a long file the time counts more than the look. */
function written(document: object): string {
  if (countOf(document) > BLOCK_VALUES_MAX) return `${JSON.stringify(document, null, 2)}\n`;
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
}

const BLOCK_VALUES_MAX = 5000; // A stack of 50 containers has as many.

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + countOf(item), 1);
}

/** `SERVICE_NAME_MY_DB`: how one container reaches another. */
export const containerNameVariables = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [`SERVICE_NAME_${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`, name]));

const environmentMap = (entries: readonly EnvironmentEntry[]) =>
  Object.fromEntries(entries.map(({ key, value }) => [key, value]));

/** The compose tool reads `$` as the beginning of a variable, which `$$` is not. */
function labelsOf(labels: unknown, { is_container_label_escape_enabled }: ServiceSettings): unknown {
  if (!is_container_label_escape_enabled) return labels;
  const escaped = (value: unknown) => (typeof value === "string" ? value.replaceAll("$", "$$$$") : value);
  if (Array.isArray(labels)) return labels.map(escaped);
  if (typeof labels !== "object" || labels === null) return labels;
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, escaped(value)]));
}

/** Also as it inherits from others. */
function isAlone(name: string, { services }: ComposeDocument): boolean {
  const seen = new Set<string>();
  for (let at: unknown = name; typeof at === "string" && !seen.has(at); ) {
    seen.add(at);
    const service = Object.hasOwn(services, at) ? services[at] : undefined;
    if (service !== undefined && replicasOf(service) !== 1) return false;
    at = typeof service?.extends === "string" ? service.extends : recordOf(service?.extends).service;
  }
  return true;
}

function optionalFile(file: unknown) {
  return typeof file === "string" ? { path: file, required: false } : { ...recordOf(file), required: false };
}

/** Without what the compose specification does not know. */
function plainVolume(volume: NonNullable<ComposeService["volumes"]>[number]) {
  if (typeof volume === "string") return volume;
  const { content: _c, is_directory: _d, isDirectory: _i, ...rest } = volume;
  return rest;
}

/** Also those that containers mount and the text does not define, which the compose tool would refuse. */
function namedVolumes({ document, containers }: Compose, uuid: string) {
  const mounted = containers.flatMap(({ volumes }) => volumes.flatMap(({ name }) => name ?? []));
  const defined = { ...Object.fromEntries(mounted.map((name) => [name, null])), ...document.volumes };
  return Object.fromEntries(
    Object.entries(defined).map(([name, volume]) => [name, { ...volume, name: volumeName(name, document, uuid) }]),
  );
}
