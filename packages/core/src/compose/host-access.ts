import { recordOf } from "./record.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";
import { type ComposeVolume, volumesOf } from "./volume.ts";

// A compose file is run by the compose tool of the control plane, on a server's engine. Two things in it reach further
// than its own containers: files and programs of the control plane, and what gives a container privileges on its server.

/**
 * What the compose tool itself would read or run, in sentences. There is nothing beside the file but the service's own
 * folder, so anything else would be the control plane's.
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
  // Also of the own folder: what another part of this text puts there has not been looked at.
  const extended = Object.entries(document.services).filter(([, service]) => recordOf(service.extends).file != null);
  const programs = Object.entries(document.services).filter(([, { provider }]) => provider !== undefined);
  return [
    ...(document.include === undefined ? [] : ["include: Other files cannot be included."]),
    ...programs.map(([name]) => `services.${name}.provider: Providers cannot be used.`),
    ...extended.map(
      ([name, { extends: base }]) =>
        `services.${name}.extends: Other files, such as ${shown(recordOf(base).file)}, cannot be extended.`,
    ),
    ...builds,
    ...outside.map(([place, file]) => `${place}: The file ${shown(file)} is not in the service's own folder.`),
  ];
}

/** Build options that read or write on the machine where the compose tool runs. */
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

/** Settings of the compose file that give a container host privileges; empty for nearly all files. */
export function hostPowers(
  document: ComposeDocument,
  containers: readonly { readonly name: string; readonly volumes: readonly ComposeVolume[] }[],
): readonly string[] {
  const ofServices = Object.entries(document.services).flatMap(([name, service]) => [
    ...POWERFUL_KEYS.filter((key) => isPowerful(service[key])).map((key) => `services.${name}.${key}`),
    ...(isOtherRuntime(service.runtime) ? [`services.${name}.runtime`] : []),
    ...(isSpared(service.oom_score_adj) ? [`services.${name}.oom_score_adj`] : []),
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
  // Alone it makes a volume that nobody else has, but a value with a colon in it mounts what stands before that.
  const unread = Object.entries(document.services).flatMap(([name, { volumes }]) =>
    (volumes ?? []).flatMap((volume) =>
      typeof volume === "string" && volume.includes("$") && volumesOf([volume]).length === 0
        ? [`services.${name}.volumes: ${shown(volume)}`]
        : [],
    ),
  );
  const drivers = Object.entries(document.volumes ?? {}).flatMap(([name, volume]) =>
    volume?.driver_opts || volume?.external ? [`volumes.${name}`] : [],
  );
  const networks = Object.entries(document.networks ?? {}).flatMap(([name, network]) =>
    isHostNetwork(name, recordOf(network)) ? [`networks.${name}`] : [],
  );
  return [...ofServices, ...folders, ...unread, ...drivers, ...networks];
}

/** The server's own network, or one that is made upon its interfaces or takes addresses of others on it. */
function isHostNetwork(key: string, { name, driver, driver_opts, ipam }: Readonly<Record<string, unknown>>): boolean {
  const called = String(name ?? key);
  const isPlain = driver == null || driver === "bridge" || driver === "overlay";
  // The server sends to a subnet's bridge what was meant for the hosts that have these addresses elsewhere.
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

/** Another one may isolate less, or run what somebody has put there. */
const isOtherRuntime = (runtime: unknown): boolean => runtime != null && runtime !== "" && runtime !== "runc";

/** Below 0, the engine and the other containers are ended before it when memory is short. */
const isSpared = (adjustment: unknown): boolean =>
  adjustment != null && adjustment !== "" && !(Number(adjustment) >= 0);

/** CDI names every device of the server, and the folders and hooks that come with it: `vendor.com/class=name`. */
function hasNamedDevices(deploy: unknown): boolean {
  const { devices } = recordOf(recordOf(recordOf(deploy).resources).reservations);
  if (!Array.isArray(devices)) return false;
  return devices.map(recordOf).some(({ driver, device_ids }) => {
    const ids = [device_ids].flat().map(String);
    return driver === "cdi" || String(driver).includes("$") || ids.some((id) => /[=$]/.test(id));
  });
}

/** In the container itself, in its build, or in what is run beside it. */
function isPrivileged(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isPrivileged);
  const { privileged, ...rest } = recordOf(value);
  const isOff = privileged === undefined || privileged === null || privileged === false;
  return !isOff || Object.values(rest).some(isPrivileged);
}

const shown = (path: unknown): string => String(path).slice(0, 200).replace(/\p{C}/gu, "?");
