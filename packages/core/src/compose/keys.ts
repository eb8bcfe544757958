import { closestNames } from "../closest-names.ts";
import { isExternal } from "./flag.ts";
import { recordOf } from "./record.ts";

/**
 * How Berth treats a key of the compose specification. `obeyed`: Berth implements it. `passed_on`: the compose tool
 * gets it unchanged. `inert`: `docker compose up` ignores it too. `refused`: a check elsewhere refuses it. A warned
 * key is not supported, and its sentence says what happens instead.
 */
export type KeyFate = "obeyed" | "passed_on" | "inert" | "refused" | WarnedKey;

export interface WarnedKey {
  /** Begins with the name of what is not supported. */
  readonly warning: string;
  /** Default: for every value. */
  readonly when?: (value: unknown) => boolean;
  /** The sentence for a cluster; `null`: it is obeyed or refused there. Default: the same. */
  readonly onCluster?: string | null;
}

type Keys = Readonly<Record<string, KeyFate>>;

const each = (fate: KeyFate, keys: string): Keys => Object.fromEntries(keys.split(/\s+/).map((key) => [key, fate]));

const IN_SWARMS: WarnedKey = {
  warning: "Is for swarms only; docker compose ignores it too.",
  onCluster: "Is ignored: Berth replaces and routes to the containers itself.",
};

/** Known keys by path. A file with any other key is refused, as the compose tool would. */
export const COMPOSE_KEYS = {
  document: {
    ...each("obeyed", "services networks volumes secrets configs"),
    ...each("refused", "include models"),
    version: "inert",
    name: { warning: "Containers and networks are named by Berth." },
  },
  service: {
    ...each(
      "obeyed",
      "build configs container_name deploy env_file environment expose extends image label_file labels",
    ),
    ...each("obeyed", "networks ports profiles restart scale secrets stop_grace_period volumes"),
    // Keys of this API family that are not in the compose specification.
    ...each("obeyed", "exclude_from_hc"),
    ...each(
      "passed_on",
      "annotations blkio_config cap_add cap_drop cgroup cgroup_parent command cpu_count cpu_percent",
    ),
    ...each("passed_on", "cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec"),
    ...each("passed_on", "depends_on device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint"),
    ...each("passed_on", "external_links extra_hosts gpus group_add healthcheck hostname init ipc isolation links"),
    ...each("passed_on", "mac_address mem_limit mem_reservation mem_swappiness memswap_limit network_mode"),
    ...each("passed_on", "oom_kill_disable oom_score_adj pid pids_limit platform post_start privileged read_only"),
    ...each("passed_on", "runtime security_opt shm_size stdin_open stop_signal storage_opt sysctls tmpfs tty ulimits"),
    ...each("passed_on", "use_api_socket user userns_mode uts volumes_from working_dir"),
    ...each("inert", "attach develop"),
    ...each("refused", "models provider"),
    logging: { warning: "Berth keeps the output itself, in three files of 20 MB." },
    pre_stop: { warning: "Is not run: Berth stops containers itself." },
    pull_policy: {
      warning: "Images are pulled at every deployment; if no registry has one, the server's own is used.",
      when: (value) => value !== "always" && value !== "build",
    },
    pull_refresh_after: { warning: "Images are pulled at every deployment." },
  },
  build: {
    ...each("obeyed", "additional_contexts args cache_from context dockerfile dockerfile_inline extra_hosts labels"),
    ...each("obeyed", "network no_cache pull secrets shm_size target ulimits"),
    ssh: "refused",
    cache_to: {
      warning: "Only a cache of type=inline is written; the server keeps its own in any case.",
      when: (value) => [value].flat().some((entry) => !isInlineCache(String(entry))),
    },
    entitlements: { warning: "Builds get no additional privileges." },
    isolation: { warning: "Is for Windows only." },
    platforms: { warning: "The image is built for the server's own platform only." },
    privileged: { warning: "Builds get no additional privileges." },
    provenance: { warning: "No attestation is kept with the image." },
    sbom: { warning: "No attestation is kept with the image." },
    tags: { warning: "Berth names the image itself. Remove this key." },
  },
  deploy: {
    ...each("obeyed", "replicas"),
    ...each("passed_on", "resources restart_policy"),
    endpoint_mode: IN_SWARMS,
    labels: IN_SWARMS,
    mode: { ...IN_SWARMS, when: (value) => value !== "replicated", onCluster: null },
    placement: { warning: "Only servers that manage a Docker Swarm obey its constraints.", onCluster: null },
    rollback_config: IN_SWARMS,
    update_config: IN_SWARMS,
  },
  healthcheck: each("passed_on", "disable interval retries start_interval start_period test timeout"),
  network: {
    ...each("obeyed", "attachable driver driver_opts enable_ipv4 enable_ipv6 external internal ipam labels"),
    name: {
      warning:
        "The network belongs to this resource only, whatever its name. Use external networks to connect to others.",
    },
  },
  volume: {
    ...each("obeyed", "driver driver_opts external labels"),
    name: { warning: "The volume belongs to this resource only, whatever its name. Mark it as external to share one." },
  },
  secret: {
    ...each("obeyed", "environment file"),
    ...each("inert", "labels name"),
    ...each("refused", "driver driver_opts external template_driver"),
  },
  config: {
    ...each("obeyed", "content environment file"),
    ...each("inert", "labels name"),
    ...each("refused", "external template_driver"),
  },
} as const satisfies Readonly<Record<string, Keys>>;

export type ComposePlace = keyof typeof COMPOSE_KEYS;

/** A key that may be written at a place, for people who write a file. */
export interface ComposeKey {
  readonly name: string;
  /** What Berth does instead of obeying it. */
  readonly note: string | undefined;
}

/**
 * The keys that a file may have below a path, without those that are refused.
 * @param path Keys from the top, such as `["services", "web"]`. Where names are chosen freely, there are none.
 */
export function composeKeysAt(path: readonly string[]): readonly ComposeKey[] {
  const place = placeAt(path);
  if (place === undefined) return [];
  const known: Keys = COMPOSE_KEYS[place];
  return Object.entries(known).flatMap(([name, fate]) =>
    fate === "refused" ? [] : [{ name, note: typeof fate === "object" ? fate.warning : undefined }],
  );
}

function placeAt([section, name, part, ...rest]: readonly string[]): ComposePlace | undefined {
  if (section === undefined) return "document";
  if (name === undefined || rest.length > 0) return undefined;
  if (part === undefined) return NAMED_PLACES.get(section);
  return section === "services" ? SERVICE_PARTS.find((place) => place === part) : undefined;
}

interface ComposePart {
  readonly place: ComposePlace;
  /** Path in the file, e.g. `services.web.build`. */
  readonly path: string;
  readonly value: Readonly<Record<string, unknown>>;
}

type Document = Readonly<Record<string, unknown>>;

/** Unknown and unsupported keys, as sentences. */
export function* composeKeyProblems(document: Document): Generator<string, void> {
  for (const { place, path, value } of partsOf(document)) {
    const known: Keys = COMPOSE_KEYS[place];
    for (const [key, said] of Object.entries(value)) {
      if (key.startsWith("x-") || said == null) continue;
      const where = path === "" ? shown(key) : `${path}.${shown(key)}`;
      const isAsked = key === "external" ? isExternal(value) : said !== false;
      const problem = known[key] === "refused" && isAsked ? REFUSED[key] : undefined;
      if (!Object.hasOwn(known, key)) yield `${where}: Unknown key${meant(key, Object.keys(known))}.`;
      else if (problem !== undefined) yield `${where}: ${problem}`;
    }
  }
}

/**
 * Sentences about keys that Berth ignores or handles differently, shown when the file is deployed.
 * @param isOnCluster Whether a cluster runs it, rather than one server.
 */
export function composeWarnings(document: Document, isOnCluster: boolean): readonly string[] {
  return partsOf(document).flatMap(({ place, path, value }) => {
    const known: Keys = COMPOSE_KEYS[place];
    return Object.entries(value).flatMap(([key, said]) => {
      const fate = said == null || !Object.hasOwn(known, key) ? undefined : known[key];
      if (typeof fate !== "object" || fate.when?.(said) === false || (key === "name" && isExternal(value))) return [];
      const { warning, onCluster = warning } = fate;
      const sentence = isOnCluster ? onCluster : warning;
      return sentence === null ? [] : [`${path === "" ? key : `${path}.${key}`}: ${sentence}`];
    });
  });
}

/** Keys that are always refused; others are refused depending on their values. */
const REFUSED: Readonly<Record<string, string>> = {
  models: "Models cannot be used.",
  external: "Exists in swarms only. Give it a file, an environment variable or a content.",
  driver: "Exists in swarms only.",
  driver_opts: "Exists in swarms only.",
  template_driver: "Exists in swarms only.",
};

function partsOf(document: Document): readonly ComposePart[] {
  const [services = [], ...others] = [...NAMED_PLACES].map(([path, place]) => named(document[path], path, place));
  return [
    { place: "document", path: "", value: document },
    ...services,
    ...services.flatMap((service) => SERVICE_PARTS.flatMap((key) => inner(service, key))),
    ...others.flat(),
  ];
}

/** Sections of named parts, the services first. */
const NAMED_PLACES: ReadonlyMap<string, ComposePlace> = new Map([
  ["services", "service"],
  ["networks", "network"],
  ["volumes", "volume"],
  ["secrets", "secret"],
  ["configs", "config"],
]);
const SERVICE_PARTS = ["build", "deploy", "healthcheck"] as const satisfies readonly ComposePlace[];

const named = (section: unknown, path: string, place: ComposePlace): readonly ComposePart[] =>
  Object.entries(recordOf(section)).map(([name, value]) => ({
    place,
    path: `${path}.${shown(name)}`,
    value: recordOf(value),
  }));

const inner = ({ path, value }: ComposePart, place: "build" | "deploy" | "healthcheck"): readonly ComposePart[] => [
  { place, path: `${path}.${place}`, value: recordOf(value[place]) },
];

function meant(key: string, known: readonly string[]): string {
  const [closest] = closestNames(key, known);
  return closest === undefined ? "" : `; ${closest} is probably meant`;
}

/** A cache that is stored in the image itself. */
const isInlineCache = (entry: string): boolean => /^(type=)?inline$/.test(entry);

const shown = (text: string): string => text.slice(0, 100).replace(/\p{C}/gu, "?");
