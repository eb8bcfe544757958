import { mayBeExternal } from "./flag.ts";
import { recordOf } from "./record.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";
import { type ComposeVolume, volumesOf } from "./volume.ts";

// A compose file is run by the compose tool of the control plane, on a server's engine. Two kinds of settings reach
// beyond its own containers: files and programs of the control plane, and host privileges.

/**
 * Settings with which the compose tool would read files or run programs of the control plane, as sentences. Only the
 * service's own folder lies beside the file.
 */
export function foreignFiles(document: ComposeDocument): readonly string[] {
  const ofServices = Object.entries(document.services).flatMap(([name, service]) =>
    filesOf(service).map((file) => [`services.${name}`, file] as const),
  );
  const shared = (["secrets", "configs"] as const).flatMap((section) =>
    Object.entries(recordOf(document[section])).map(([name, value]) => {
      return [`${section}.${name}`, recordOf(value).file] as const;
    }),
  );
  const outside = [...ofServices, ...shared].filter(([, file]) => isOutside(file));
  const builds = Object.entries(document.services).flatMap(([name, { build }]) =>
    buildProblems(recordOf(build)).map((problem) => `services.${name}.build.${problem}`),
  );
  // The own folder is refused too, since files placed there by this compose file have not been checked.
  const extended = Object.entries(document.services).filter(([, service]) => recordOf(service.extends).file != null);
  const programs = Object.entries(document.services).filter(([, { provider }]) => provider !== undefined);
  return [
    ...(document.include === undefined
      ? []
      : ["include: Other files cannot be included. Copy what they contain into this file."]),
    ...programs.map(([name]) => `services.${name}.provider: Providers cannot be used.`),
    ...extended.map(
      ([name, { extends: base }]) =>
        `services.${name}.extends: Other files, such as ${shown(recordOf(base).file)}, cannot be extended. Copy the service into this file.`,
    ),
    ...builds,
    ...outside.map(([place, file]) => `${place}: The file ${shown(file)} is not in the service's own folder.`),
  ];
}

/** Build options that read or write files of the machine where the compose tool runs. */
function buildProblems({ ssh, cache_from, cache_to }: Readonly<Record<string, unknown>>): readonly string[] {
  const caches = Object.entries({ cache_from, cache_to }).filter(([, entries]) =>
    [entries].flat().some((entry) => entry != null && !isRemoteCache(String(entry))),
  );
  return [
    ...(ssh == null ? [] : ["ssh: Keys are not passed on to builds."]),
    ...caches.map(([key]) => `${key}: Only images and type=registry or type=inline are allowed.`),
  ];
}

/** The name of an image, or a cache in a registry or in the image itself. */
const isRemoteCache = (entry: string): boolean =>
  !entry.includes("$") && (!entry.includes("=") || /^type=(registry|inline)(,|$)/.test(entry));

function filesOf({ env_file, label_file, build }: ComposeService): readonly unknown[] {
  const listed = [env_file, label_file].flatMap((file) => (Array.isArray(file) ? file : [file]));
  const files = listed.map((file) => (typeof file === "object" ? recordOf(file).path : file));
  const { context = build, dockerfile, additional_contexts } = recordOf(build);
  const added = Array.isArray(additional_contexts)
    ? additional_contexts.map((item: unknown) => String(item).replace(/^[^=]*=/, ""))
    : Object.values(recordOf(additional_contexts));
  const folders = [context, ...added].filter((folder) => !isRemote(folder));
  return [...files, dockerfile, ...folders];
}

const isRemote = (context: unknown): boolean =>
  typeof context === "string" && /^((https?|git|ssh|docker-image):\/\/|git@|service:)/.test(context);

const isOutside = (path: unknown): boolean =>
  typeof path === "string" && (/^[/~]|[$:\\]/.test(path) || path.split("/").includes(".."));

/** Settings of the compose file that give a container host privileges; empty for most files. */
export function hostPrivileges(
  document: ComposeDocument,
  containers: readonly { readonly name: string; readonly volumes: readonly ComposeVolume[] }[],
): readonly string[] {
  const ofServices = Object.entries(document.services).flatMap(([name, service]) => [
    ...POWERFUL_KEYS.filter((key) => isPowerful(service[key])).map((key) => `services.${name}.${key}`),
    ...(isOtherRuntime(service.runtime) ? [`services.${name}.runtime`] : []),
    ...(isSpared(service.oom_score_adj) ? [`services.${name}.oom_score_adj`] : []),
    ...(service.oom_kill_disable != null && String(service.oom_kill_disable) !== "false"
      ? [`services.${name}.oom_kill_disable`]
      : []),
    ...(hasNamedDevices(service.deploy) || hasNamedDevices({ resources: { reservations: { devices: service.gpus } } })
      ? [`services.${name}: devices by their CDI names`]
      : []),
    ...BUILD_KEYS.filter((key) => isPowerful(recordOf(service.build)[key])).map(
      (key) => `services.${name}.build.${key}`,
    ),
    ...(isPrivileged(service) ? [`services.${name}.privileged`] : []),
  ]);
  const folders = containers.flatMap(({ name, volumes }) =>
    volumes
      .filter(({ hostPath }) => isOutside(hostPath))
      .map(({ hostPath }) => `services.${name}.volumes: ${shown(hostPath)}`),
  );
  // A variable as a volume is harmless if its value is a path, but a value with a colon mounts the folder before the
  // colon.
  const unread = Object.entries(document.services).flatMap(([name, { volumes }]) =>
    (volumes ?? []).flatMap((volume) =>
      typeof volume === "string" && volume.includes("$") && volumesOf([volume]).length === 0
        ? [`services.${name}.volumes: ${shown(volume)}`]
        : [],
    ),
  );
  const drivers = Object.entries(document.volumes ?? {}).flatMap(([name, volume]) =>
    volume?.driver_opts || mayBeExternal(volume) ? [`volumes.${name}`] : [],
  );
  const networks = Object.entries(document.networks ?? {}).flatMap(([name, network]) =>
    isHostNetwork(name, recordOf(network)) ? [`networks.${name}`] : [],
  );
  return [...ofServices, ...folders, ...unread, ...drivers, ...networks];
}

/** The server's own network, or one that uses its interfaces or addresses. */
function isHostNetwork(key: string, { name, driver, driver_opts, ipam }: Readonly<Record<string, unknown>>): boolean {
  const called = String(name ?? key);
  const isPlain = driver == null || driver === "bridge" || driver === "overlay";
  // The server would route traffic for these addresses to the subnet's bridge instead of to the hosts that have them.
  const hasOwnAddresses = Object.values(recordOf(ipam)).some((said) =>
    [said].flat().some((entry) => entry != null && entry !== "default"),
  );
  return called === "host" || called.includes("$") || !isPlain || driver_opts != null || hasOwnAddresses;
}

const BUILD_KEYS = ["network", "entitlements"];

const POWERFUL_KEYS = [
  ...["cap_add", "devices", "device_cgroup_rules", "cgroup", "cgroup_parent", "use_api_socket", "credential_spec"],
  ...["security_opt", "pid", "ipc", "uts", "userns_mode", "network_mode", "volumes_from"],
];

function isPowerful(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => !/^no-new-privileges([:=](true|false))?$/.test(String(item)));
  // Sharing a namespace among the service's own containers gives no host privileges.
  return typeof value === "string" ? !/^(service:.*|none|bridge|private|shareable|)$/.test(value) : Boolean(value);
}

/** Another runtime may isolate less, or run a program that somebody has placed on the server. */
const isOtherRuntime = (runtime: unknown): boolean => runtime != null && runtime !== "" && runtime !== "runc";

/** With a negative adjustment, the engine and other containers are killed before it when memory is short. */
const isSpared = (adjustment: unknown): boolean =>
  adjustment != null && adjustment !== "" && !(Number(adjustment) >= 0);

/** CDI names can refer to every device of the server, with its folders and hooks: `vendor.com/class=name`. */
function hasNamedDevices(deploy: unknown): boolean {
  const { devices } = recordOf(recordOf(recordOf(deploy).resources).reservations);
  if (!Array.isArray(devices)) return false;
  return devices.map(recordOf).some(({ driver, device_ids }) => {
    const ids = [device_ids].flat().map(String);
    return driver === "cdi" || String(driver).includes("$") || ids.some((id) => /[=$]/.test(id));
  });
}

/** Searches the container itself, its build, and containers that run beside it. */
function isPrivileged(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isPrivileged);
  const { privileged, ...rest } = recordOf(value);
  const isOff = privileged === undefined || privileged === null || privileged === false;
  return !isOff || Object.values(rest).some(isPrivileged);
}

const shown = (path: unknown): string => String(path).slice(0, 200).replace(/\p{C}/gu, "?");
