import { mountPathOf } from "./volume.ts";

type KeyOf = (entry: unknown) => string;

/** A compose document whose lists have no duplicates: the later entry replaces the earlier one at its place. */
export function distinct(value: unknown, path: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const keyOf = KEYS.get(patternOf(path));
    if (keyOf === undefined) return value;
    return [...new Map(value.map((entry: unknown) => [keyOf(entry), entry] as const)).values()];
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, distinct(item, [...path, key])]));
}

/** The path with `*` in place of names that a user chose. */
export const patternOf = (path: readonly string[]): string =>
  path
    .map((key, at) => (at === 1 || (at === 3 && (path[2] === "ulimits" || path[2] === "networks")) ? "*" : key))
    .join(".");

const byName: KeyOf = (entry) => String(entry).split("=", 1)[0] ?? "";
const byText: KeyOf = (entry) => String(entry).replace(":", "=");
const byPath: KeyOf = (entry) => String(fieldOf(entry, "path") ?? entry);
const byMountPath: KeyOf = (entry) => withoutSlashes(String(fieldOf(entry, "target") ?? mountPathOf(String(entry))));

/** Without trailing slashes. A regular expression would take quadratic time here. */
function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

/** Entries that mount at the same path are the same. */
const byFile =
  (folder: string): KeyOf =>
  (entry) => {
    const name = String(fieldOf(entry, "target") ?? fieldOf(entry, "source") ?? entry);
    return name.startsWith("/") ? name : `${folder}/${name}`;
  };

/** Published ports in every notation, such as `127.0.0.1:8080:80/tcp`. */
const byPort: KeyOf = (entry) => {
  const target = fieldOf(entry, "target");
  if (target !== undefined) {
    const { host_ip = "", published = "", protocol = "tcp" } = entry as Readonly<Record<string, unknown>>;
    return [host_ip ?? "", published ?? "", `${String(target)}/${String(protocol ?? "tcp")}`].join(":");
  }
  const [, address = "", protocol = "tcp"] = /^(.*?)(?:\/(\w+))?$/s.exec(String(entry)) ?? [];
  const [container = "", host = "", ...ip] = addressParts(address);
  return [ip.reverse().join(":"), host, `${container}/${protocol}`].join(":");
};

/**
 * The parts of an address, the last one first. Splits at colons outside of `[...]` and `${...}`, in one pass however
 * many of these are open.
 */
function addressParts(address: string): readonly string[] {
  const parts: string[] = [];
  let end = address.length;
  let isInBrackets = false;
  let isInBraces = false;
  for (let at = address.length - 1; at >= 0; at -= 1) {
    const character = address[at] ?? "";
    if ("[]".includes(character)) isInBrackets = character === "]";
    else if ("{}".includes(character)) isInBraces = character === "}";
    else if (character === ":" && !isInBrackets && !isInBraces) {
      parts.push(address.slice(at + 1, end));
      end = at;
    }
  }
  return [...parts, address.slice(0, end)];
}

function fieldOf(entry: unknown, key: string): unknown {
  if (typeof entry !== "object" || entry === null) return undefined;
  return (entry as Readonly<Record<string, unknown>>)[key] ?? undefined;
}

const each = (keyOf: KeyOf, keys: string) => keys.split(" ").map((key) => [`services.*.${key}`, keyOf] as const);

/** The same keys as in compose-go's own table. */
const KEYS: ReadonlyMap<string, KeyOf> = new Map([
  ...each(byName, "cap_add cap_drop dns dns_opt dns_search expose links profiles tmpfs"),
  ...each(byName, "build.tags build.platforms networks.*.aliases networks.*.link_local_ips"),
  ...each(byText, "extra_hosts build.extra_hosts"),
  ...each(byPath, "env_file label_file"),
  ...each(byMountPath, "volumes devices"),
  ...each(byFile(""), "configs"),
  ...each(byFile("/run/secrets"), "secrets"),
  ...each(byPort, "ports"),
]);
