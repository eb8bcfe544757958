import { readConstraints } from "../application/node-placement.ts";
import { isExternal } from "../compose/flag.ts";
import { recordOf } from "../compose/record.ts";
import { replicasOf, withInheritedScale } from "../compose/replicas.ts";
import type { ComposeDocument, ComposeService } from "../compose/schema.ts";
import { volumesOf } from "../compose/volume.ts";
import type { StackContainer, StackFile, StackOptions } from "./stack.ts";
import type { StorageMount } from "./storage-mount.ts";

/** A compose file with what Berth adds to it. */
export interface ClusterStack {
  /** The compose file with references filled in. */
  readonly document: ComposeDocument;
  readonly containers: Readonly<Record<string, Pick<StackContainer, "ports" | "storages">>>;
  readonly scale?: StackOptions["scale"];
  /** Of its source, which containers get instead of the mounts at their paths. */
  readonly files?: readonly Pick<StackFile, "container" | "mountPath">[];
}

/**
 * What a compose file asks for that a cluster cannot give its containers, as sentences that name the key and the
 * remedy. Docker Swarm itself would leave most of it out without a word.
 */
export function clusterProblems({ document, containers, scale = {}, files = [] }: ClusterStack): readonly string[] {
  const ofServices = Object.entries(document.services).flatMap(([name, service]) => {
    const own = Object.hasOwn(containers, name) ? containers[name] : undefined;
    const replicas = (Object.hasOwn(scale, name) ? scale[name] : replicasOf(withInheritedScale(name, document))) ?? 1;
    return [
      ...keyProblems(service, own),
      ...deployProblems(service),
      ...volumeProblems(document, service, {
        storages: own?.storages ?? [],
        replicas,
        carried: files.flatMap(({ container, mountPath }) => (container === name ? mountPath : [])),
      }),
      ...addressProblems(service),
    ].map((problem) => `services.${name}.${problem}`);
  });
  const ofNetworks = Object.entries(document.networks ?? {}).flatMap(([key, network]) =>
    networkProblems(key, recordOf(network)).map((problem) => `networks.${key}.${problem}`),
  );
  const ofVolumes = Object.entries(document.volumes ?? {}).flatMap(([key, volume]) =>
    definedVolumeProblems(recordOf(volume)).map((problem) => `volumes.${key}.${problem}`),
  );
  return [...ofServices, ...ofNetworks, ...ofVolumes];
}

/** Where the containers of a service may run, in Swarm's form. Only of a file without problems. */
export const clusterConstraints = (service: ComposeService): readonly string[] =>
  readConstraints(constraintLines(service)).constraints;

const LACKING = "Docker Swarm has no such option. Remove it, or deploy to a server with Docker.";
const LIMITS = "Docker Swarm has no such option. Use deploy.resources.limits.cpus, or deploy to a server with Docker.";

/** Keys that a cluster refuses. A value that changes nothing is accepted, see `isNothing`. */
const REFUSED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...["privileged", "devices", "device_cgroup_rules", "gpus", "runtime", "security_opt", "cgroup", "cgroup_parent"],
      ...["ipc", "pid", "uts", "userns_mode", "use_api_socket", "credential_spec", "isolation", "storage_opt"],
      ...["oom_kill_disable", "oom_score_adj", "blkio_config", "mem_swappiness", "memswap_limit", "mac_address"],
      ...["annotations", "domainname", "post_start"],
    ].map((key) => [key, LACKING]),
  ),
  ...Object.fromEntries(
    [
      ...["cpuset", "cpu_shares", "cpu_count", "cpu_percent", "cpu_period", "cpu_quota"],
      ...["cpu_rt_period", "cpu_rt_runtime"],
    ].map((key) => [key, LIMITS]),
  ),
  network_mode:
    "Containers of a cluster are in networks of the cluster. Remove it: they find each other by their names.",
  volumes_from: "Containers may be on different nodes. Name the volumes in both services.",
  external_links: "Containers of other resources are found by their names in a common network. Remove it.",
};

function keyProblems(service: ComposeService, own: Pick<StackContainer, "ports"> | undefined): readonly string[] {
  const refused = Object.entries(REFUSED).flatMap(([key, sentence]) =>
    isNothing(key, service[key]) ? [] : `${key}: ${sentence}`,
  );
  const isRouted = (own?.ports ?? []).length > 0;
  const links = listOf(service.links).filter((link) => link.includes(":"));
  const hosts = Array.isArray(service.extra_hosts) ? service.extra_hosts : Object.values(recordOf(service.extra_hosts));
  return [
    ...refused,
    ...((service.ports ?? []).length > 0 && !isRouted
      ? ["ports: The nodes of a cluster publish no ports. Give the service a URL, or remove it: siblings need none."]
      : []),
    ...links.map((link) => `links: ${shown(link)} gives another name. Use networks with aliases instead.`),
    ...(hosts.some((host: unknown) => String(host).endsWith("host-gateway"))
      ? ["extra_hosts: host-gateway is another machine on each node. Name the address instead."]
      : []),
  ];
}

/** Values that ask for nothing, or for what every container of a cluster has. */
function isNothing(key: string, value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "" || value === 0) return true;
  if (typeof value === "object" && Object.keys(value).length === 0) return true;
  return (USUAL[key] ?? []).includes(String(value));
}

const USUAL: Readonly<Record<string, readonly string[]>> = {
  network_mode: ["bridge", "default"],
  ipc: ["private", "shareable"],
  cgroup: ["private"],
  runtime: ["runc"],
  isolation: ["default"],
};

function deployProblems(service: ComposeService): readonly string[] {
  const { mode = "replicated", placement, resources } = recordOf(service.deploy);
  const { constraints: _c, ...otherPlacement } = recordOf(placement);
  const { devices, generic_resources } = recordOf(recordOf(resources).reservations);
  return [
    ...(mode === null || mode === "replicated"
      ? []
      : [`deploy.mode: ${shown(mode)} is not supported. Use replicated with deploy.replicas.`]),
    ...readConstraints(constraintLines(service)).problems.map((problem) => `deploy.placement.constraints: ${problem}`),
    ...Object.entries(otherPlacement).flatMap(([key, value]) =>
      isNothing(key, value) ? [] : [`deploy.placement.${shown(key)}: Is not supported. Use constraints.`],
    ),
    ...(isNothing("", devices) && isNothing("", generic_resources)
      ? []
      : [`deploy.resources.reservations: Devices of nodes cannot be reserved. ${LACKING}`]),
  ];
}

const constraintLines = ({ deploy }: ComposeService): readonly string[] =>
  listOf(recordOf(recordOf(deploy).placement).constraints).map((line) => line.trim());

function volumeProblems(
  { volumes: defined }: ComposeDocument,
  { volumes = [], configs, secrets }: ComposeService,
  { storages, replicas, carried }: Mounted,
): readonly string[] {
  const given = new Set(storages.map(({ mountPath }) => mountPath));
  const isCarried = ({ mountPath, isReadOnly = false }: Pick<StorageMount, "mountPath" | "isReadOnly">) =>
    carried.some((path) => path === mountPath || (isReadOnly && path.startsWith(`${mountPath}/`)));
  const read = volumesOf(volumes ?? []).filter((volume) => !given.has(volume.mountPath) && !isCarried(volume));
  const folders = [
    ...read.flatMap(({ hostPath, content }) => (content === null && /^[/~]/.test(hostPath ?? "") ? [hostPath] : [])),
    ...storages.flatMap((mount) => (mount.type === "folder" ? [mount.hostPath] : [])),
  ];
  const external = read.flatMap(({ name }) => (name !== null && isExternal(defined?.[name]) ? [name] : []));
  const kept = [
    ...read.filter(({ content, hostPath }) => content === null && !/^[/~]/.test(hostPath ?? "")),
    ...storages.filter((mount) => mount.type === "volume" && !isCarried(mount)),
  ];
  const files = [
    ...carried,
    ...read.flatMap(({ content, mountPath }) => (content === null ? [] : mountPath)),
    ...storages.flatMap((mount) => (mount.type === "file" ? mount.mountPath : [])),
    ...[configs, secrets].flatMap((section) =>
      [section ?? []].flat().flatMap((entry) => String(recordOf(entry).target ?? "") || []),
    ),
  ];
  const hidden = files.filter((file) => kept.some(({ mountPath }) => file.startsWith(`${mountPath}/`)));
  const types = (volumes ?? []).flatMap((volume) => {
    const type = typeof volume === "string" ? undefined : volume.type;
    return type == null || TYPES.includes(type) ? [] : type;
  });
  return [
    ...folders.map(
      (path) =>
        `volumes: ${shown(path)} is a folder of one machine. Use a named volume, or deploy to a server with Docker.`,
    ),
    ...external.map(
      (name) => `volumes: ${shown(name)} is external, so its node is not known. Use a volume of the file.`,
    ),
    ...types.map((type) => `volumes: The type ${shown(type)} is not supported. Use a named volume.`),
    ...(replicas > 1 && kept.length > 0
      ? [
          `volumes: A container with a volume is on the node that has the data, so there can be one. Set its replicas to 1.`,
        ]
      : []),
    ...hidden.map(
      (file) => `volumes: The file ${shown(file)} is inside a volume, which would hide it. Mount it elsewhere.`,
    ),
  ];
}

interface Mounted {
  readonly storages: readonly StorageMount[];
  readonly replicas: number;
  /** Paths of files of the source. */
  readonly carried: readonly string[];
}

const TYPES: readonly string[] = ["volume", "tmpfs", "bind"];

/** A fixed address, which Docker Swarm gives to no task. */
function addressProblems({ networks }: ComposeService): readonly string[] {
  const joined = Array.isArray(networks) ? [] : Object.entries(recordOf(networks));
  return joined.flatMap(([key, options]) =>
    ADDRESSES.flatMap((address) =>
      isNothing(address, recordOf(options)[address])
        ? []
        : [`networks.${key}.${address}: Docker Swarm chooses addresses. Remove it, and use the name of the service.`],
    ),
  );
}

const ADDRESSES = ["ipv4_address", "ipv6_address", "link_local_ips", "mac_address"];

/** Options of a driver can mount folders and disks of the node. */
function definedVolumeProblems({ driver, driver_opts }: Readonly<Record<string, unknown>>): readonly string[] {
  const { type, o } = recordOf(driver_opts);
  const flags = String(o ?? "").split(",");
  const isOfMachine =
    !FILE_SYSTEMS.includes(String(type)) || flags.some((flag) => /^r?bind$|^r?move$|^remount$/.test(flag.trim()));
  return [
    ...(driver == null || driver === "local" ? [] : [`driver: ${shown(driver)} may not be on every node. Remove it.`]),
    ...(isNothing("", driver_opts) || !isOfMachine
      ? []
      : [
          `driver_opts: They mount a part of one machine. Remove them, or use one of the types ${FILE_SYSTEMS.join(", ")}.`,
        ]),
  ];
}

/** Those that lie elsewhere or in memory, so that no disk or folder of the node is mounted. */
const FILE_SYSTEMS: readonly string[] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "tmpfs"];

/** Networks that Docker makes on each machine; in that of the machine itself, a container is not separated from it. */
const NETWORKS_OF_MACHINES: readonly string[] = ["host", "bridge", "none", "ingress", "docker_gwbridge"];

function networkProblems(key: string, network: Readonly<Record<string, unknown>>): readonly string[] {
  const { external, driver, driver_opts, ipam, name } = network;
  if (isExternal({ external })) {
    const joined = String(name ?? recordOf(external).name ?? key);
    return NETWORKS_OF_MACHINES.includes(joined)
      ? [`external: ${shown(joined)} is a network of one machine. Remove it.`]
      : [];
  }
  return [
    ...(driver == null || driver === "bridge" || driver === "overlay"
      ? []
      : [`driver: ${shown(driver)} spans no nodes. Remove it.`]),
    ...(isNothing("", driver_opts) ? [] : ["driver_opts: They are for networks of one machine. Remove them."]),
    ...(isNothing("", ipam) ? [] : ["ipam: The cluster chooses the addresses of its networks. Remove it."]),
  ];
}

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

const shown = (text: unknown): string => String(text).slice(0, 200).replace(/\p{C}/gu, "?");
