import { stringify } from "yaml";
import type { ServiceSettings } from "../service/service.ts";
import { containerPort } from "./container-port.ts";
import type { EnvironmentEntry } from "./environment.ts";
import { isCutOff, serviceNetworks } from "./joined-networks.ts";
import type { Compose, ComposeContainer } from "./parse.ts";
import { recordOf } from "./record.ts";
import { isExtended, replicasOf, withInheritedScale } from "./replicas.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";
import { volumeName } from "./storages.ts";

export interface RenderOptions {
  readonly uuid: string;
  readonly settings: ServiceSettings;
  /** Network of the service's destination. */
  readonly network: string;
}

/**
 * The compose file as it is started: each container is named `<its name>-<uuid>` and joins a network of the service,
 * unless it must not reach the outside; volumes are not shared with other services. All else stays as written.
 */
export function renderCompose(compose: Compose, { uuid, settings, network }: RenderOptions): string {
  const { document, environments } = compose;
  const networksOf = (container: ComposeContainer, service: ComposeService) => {
    const said = serviceNetworks(service, document);
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
        // The compose tool numbers the containers of a service that has several.
        ...(isAlone(name, document) ? { container_name: `${name}-${uuid}` } : {}),
        // Files of the source do not exist where this compose file is read.
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

/** JSON is valid YAML and is written thirty times as fast, which matters more than readability for long files. */
function written(document: object): string {
  if (countOf(document) > BLOCK_VALUES_MAX) return `${JSON.stringify(document, null, 2)}\n`;
  return stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
}

const BLOCK_VALUES_MAX = 5000; // Number of values in a stack of about 50 containers.

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + countOf(item), 1);
}

/** `SERVICE_NAME_MY_DB`: the host name of a container for the other containers. */
export const containerNameVariables = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [`SERVICE_NAME_${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`, name]));

const environmentMap = (entries: readonly EnvironmentEntry[]) =>
  Object.fromEntries(entries.map(({ key, value }) => [key, value]));

/** The compose tool reads `$` as the beginning of a variable, so literal ones become `$$`. */
function labelsOf(labels: unknown, { is_container_label_escape_enabled }: ServiceSettings): unknown {
  if (!is_container_label_escape_enabled) return labels;
  const escaped = (value: unknown) => (typeof value === "string" ? value.replaceAll("$", "$$$$") : value);
  if (Array.isArray(labels)) return labels.map(escaped);
  if (typeof labels !== "object" || labels === null) return labels;
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, escaped(value)]));
}

const isAlone = (name: string, document: ComposeDocument): boolean =>
  replicasOf(withInheritedScale(name, document)) === 1 && !isExtended(name, document);

function optionalFile(file: unknown) {
  return typeof file === "string" ? { path: file, required: false } : { ...recordOf(file), required: false };
}

/** Without keys that the compose specification does not know. */
function plainVolume(volume: NonNullable<ComposeService["volumes"]>[number]) {
  if (typeof volume === "string") return volume;
  const { content: _c, is_directory: _d, isDirectory: _i, ...rest } = volume;
  return rest;
}

/** Includes volumes that containers mount but the file does not define: the compose tool would refuse those. */
function namedVolumes({ document, containers }: Compose, uuid: string) {
  const mounted = containers.flatMap(({ volumes }) => volumes.flatMap(({ name }) => name ?? []));
  const defined = { ...Object.fromEntries(mounted.map((name) => [name, null])), ...document.volumes };
  return Object.fromEntries(
    Object.entries(defined).map(([name, volume]) => [name, { ...volume, name: volumeName(name, document, uuid) }]),
  );
}
