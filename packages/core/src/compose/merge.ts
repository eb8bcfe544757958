import { environmentLines } from "./environment.ts";
import { distinct, patternOf } from "./merge-lists.ts";
import { type EntryTag, readYaml, type YamlValue } from "./yaml.ts";

/** One of several files that are merged into one compose file. */
export interface ComposePart {
  /** Path for messages. */
  readonly path: string;
  readonly text: string;
}

/**
 * Merges compose files like the compose tool does: a later file overrides an earlier one, maps are merged, lists are
 * concatenated, and of two equal entries of a list the later one stays. `!reset` removes the earlier value,
 * `!override` replaces it.
 */
export function mergeCompose(parts: readonly ComposePart[]): MergedCompose {
  const steps = mergeInSteps(parts);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export type MergedCompose = { readonly text: string } | { readonly problems: readonly string[] };

/** Like `mergeCompose`, but pauses after each file so that other requests can be served. */
export function* mergeInSteps(parts: readonly ComposePart[]): Generator<undefined, MergedCompose> {
  let whole: Fields = {};
  for (const { path, text } of parts) {
    yield;
    const yaml = readYaml(text);
    if ("problem" in yaml) return { problems: [`${path}: ${yaml.problem}`] };
    // An empty file changes nothing.
    if (yaml.value === null) continue;
    if (!isMap(yaml.value)) return { problems: [`${path}: Must be a map with the key services.`] };
    try {
      // Removing duplicates from the lists of a map returns a map.
      whole = distinct(joinMaps(whole, marked(yaml.value, [], yaml) as Fields, []), []) as Fields;
    } catch (refusal) {
      if (refusal instanceof Unlike) return { problems: [`${path}: ${refusal.message}`] };
      throw refusal;
    }
    // Aliases may expand to long values, and each use counts.
    if (lengthOf(whole) > LENGTH_MAX) return { problems: [`Together they exceed ${LENGTH_MAX} characters.`] };
  }
  return { text: JSON.stringify(whole) };
}

/**
 * A compose file whose services say with `!reset` or `!override` what they do not take over from the service that they
 * extend: these get everything else of it, and extend it no longer, since the compose tool is given no tags.
 */
export function withTagsApplied(yaml: YamlValue): { readonly value: unknown } | { readonly problem: string } {
  const services = isMap(yaml.value) && isMap(yaml.value.services) ? yaml.value.services : {};
  const tagged = Object.entries(services).flatMap(([name, service]) => {
    const base = baseOf(service);
    return base !== undefined && Object.hasOwn(services, base) && hasTag(service, yaml) ? [name] : [];
  });
  if (!isMap(yaml.value) || tagged.length === 0) return { value: yaml.value };
  try {
    const known = new Map<string, Fields>();
    const whole = tagged.map((name) => [name, extendedService(name, { services, known, yaml })] as const);
    if (lengthOf(Object.fromEntries(whole)) > LENGTH_MAX)
      return { problem: `Exceeds ${LENGTH_MAX} characters after services are extended.` };
    return { value: { ...yaml.value, services: { ...services, ...Object.fromEntries(whole) } } };
  } catch (refusal) {
    if (refusal instanceof Unlike) return { problem: refusal.message };
    throw refusal;
  }
}

interface Extending {
  readonly services: Fields;
  /** Those that are merged already. */
  readonly known: Map<string, Fields>;
  readonly yaml: YamlValue;
}

/** The service with everything that it takes over. */
function extendedService(name: string, { services, known, yaml }: Extending): Fields {
  // With its bases, the farthest last. A circle ends where it began.
  const chain = new Set<string>();
  for (let at: string | undefined = name; at !== undefined && Object.hasOwn(services, at) && !chain.has(at); ) {
    chain.add(at);
    at = known.has(at) ? undefined : baseOf(services[at]);
  }
  let whole: Fields = {};
  for (const each of [...chain].reverse()) {
    const path = ["services", each];
    const said = marked(services[each], path, yaml);
    const { extends: _, ...own } = isMap(said) ? said : {};
    // Removing duplicates from the lists of a map returns a map.
    whole = known.get(each) ?? (distinct(joinMaps(whole, own, path), path) as Fields);
    known.set(each, whole);
  }
  return whole;
}

function baseOf(service: unknown): string | undefined {
  const base = isMap(service) ? service.extends : undefined;
  const name = isMap(base) ? (base.file == null ? base.service : undefined) : base;
  return typeof name === "string" ? name : undefined;
}

function hasTag(value: unknown, yaml: YamlValue): boolean {
  if (Array.isArray(value)) return value.some((item) => hasTag(item, yaml));
  if (!isMap(value)) return false;
  return (yaml.tags.get(value)?.size ?? 0) > 0 || Object.values(value).some((item) => hasTag(item, yaml));
}

const LENGTH_MAX = 1_048_576; // The limit of one file.

type Fields = Record<string, unknown>;
type Path = readonly string[];

/** Thrown when one file has a list where another has a map. */
class Unlike extends Error {
  constructor(path: Path) {
    super(`${path.join(".").slice(0, 200)} has another type than in the earlier files.`);
  }
}

/** The value of an entry with a tag. */
class Tagged {
  readonly tag: EntryTag;
  readonly value: unknown;
  constructor(tag: EntryTag, value: unknown) {
    this.tag = tag;
    this.value = value;
  }
}

/** A copy that keeps tags, and numbers of environments as written: as a number, `1.10` would become `1.1`. */
function marked(value: unknown, path: Path, yaml: YamlValue): unknown {
  if (Array.isArray(value)) return value.map((item) => marked(item, [...path, ""], yaml));
  if (!isMap(value)) return value;
  const isEnvironment = patternOf(path) === "services.*.environment";
  const entries = Object.entries(value).map(([key, item]) => {
    const source = isEnvironment && item !== null ? yaml.notes.get(value)?.get(key)?.source : undefined;
    const read = marked(source ?? item, [...path, key], yaml);
    const tag = yaml.tags.get(value)?.get(key);
    return [key, tag === undefined ? read : new Tagged(tag, read)] as const;
  });
  return Object.fromEntries(entries);
}

/** The value without tags, for a place where there is nothing to reset or override. */
function plain(value: unknown): unknown {
  if (value instanceof Tagged) return plain(value.value);
  if (Array.isArray(value)) return value.map(plain);
  if (!isMap(value)) return value;
  const kept = Object.entries(value).filter(([, item]) => !(item instanceof Tagged && item.tag === "!reset"));
  return Object.fromEntries(kept.map(([key, item]) => [key, plain(item)]));
}

function joinMaps(before: Fields, said: Fields, path: Path): Fields {
  const all = new Map(Object.entries(before));
  for (const [key, item] of Object.entries(said)) {
    if (item instanceof Tagged && item.tag === "!reset") all.delete(key);
    else if (item instanceof Tagged || !all.has(key)) all.set(key, plain(item));
    else all.set(key, join(all.get(key), item, [...path, key]));
  }
  return Object.fromEntries(all);
}

function join(before: unknown, said: unknown, path: Path): unknown {
  const rule = RULES.get(patternOf(path));
  // Null replaces too: it restores the command of the image.
  if (rule === "replace") return plain(said);
  if (said === null) return before;
  if (before === null) return plain(said);
  if (typeof rule === "object") return rule.join(before, said, path);
  const form = rule ?? ((value: unknown) => value);
  const [first, second] = [form(before), form(said)];
  if (Array.isArray(first) || isMap(first)) {
    if (Array.isArray(first) && Array.isArray(second)) return [...first, ...second.map(plain)];
    if (isMap(first) && isMap(second)) return joinMaps(first, second, path);
    throw new Unlike(path);
  }
  return plain(said);
}

/** Converts both values to one form before they are merged. */
type Form = (value: unknown) => unknown;
type MergeRule = Form | "replace" | { readonly join: (before: unknown, said: unknown, path: Path) => unknown };

const asList: Form = (value) => (Array.isArray(value) ? value : [value]);

/** `NAME=value` in a list is the same as an entry of a map. */
const asPairs: Form = (value) =>
  Array.isArray(value)
    ? Object.fromEntries(
        value.flatMap((item: unknown): readonly (readonly [string, unknown])[] =>
          isMap(item) ? Object.entries(item) : [pairOf(String(item))],
        ),
      )
    : value;

function pairOf(text: string): readonly [string, unknown] {
  const equals = text.indexOf("=");
  return equals === -1 ? [text.trim(), null] : [text.slice(0, equals).trim(), text.slice(equals + 1)];
}

/** `environment` may also be a text of lines. */
const isText = (path: Path, value: unknown): value is string =>
  typeof value === "string" && path.at(-1) === "environment";

/** A name without a value replaces the value of an earlier file: it now comes from outside. */
const PAIRS: MergeRule = {
  join(before, said, path) {
    const [first, second] = [before, said].map((value) =>
      asPairs(isText(path, value) ? environmentLines(value) : value),
    );
    if (!isMap(first) || !isMap(second)) throw new Unlike(path);
    const names = Object.entries(second).filter(([, value]) => value === null);
    return { ...joinMaps(first, second, path), ...Object.fromEntries(names) };
  },
};

/** A list of names means that each has `value`. */
const asNames =
  (value: object | null): Form =>
  (said) =>
    Array.isArray(said) ? Object.fromEntries(said.map((name) => [String(name), value])) : said;

const asMapOf =
  (key: string): Form =>
  (said) =>
    typeof said === "string" ? { [key]: said } : said;

const asHosts: Form = (value) =>
  isMap(value)
    ? Object.entries(value).flatMap(([host, addresses]) => [addresses].flat().map((one) => `${host}=${String(one)}`))
    : value;

/** Options are merged only for the same driver. */
const LOGGING: MergeRule = {
  join(before, said, path) {
    if (!isMap(before) || !isMap(said)) throw new Unlike(path);
    const isOther = said.driver != null && before.driver != null && said.driver !== before.driver;
    return isOther ? plain(said) : joinMaps(before, said, path);
  },
};

/** Either one number, or a map with two. */
const LIMIT: MergeRule = {
  join: (before, said, path) => (isMap(before) && isMap(said) ? joinMaps(before, said, path) : plain(said)),
};

/** Entries are merged by subnet. */
const SUBNETS: MergeRule = {
  join(before, said, path) {
    if (!Array.isArray(before) || !Array.isArray(said)) throw new Unlike(path);
    const all: unknown[] = [...before];
    // Looked up by subnet, since comparing thousands with each other would be slow.
    const places = new Map(all.flatMap((item, at) => (isMap(item) ? [[item.subnet, at] as const] : [])).reverse());
    for (const item of said as readonly unknown[]) {
      const at = isMap(item) ? places.get(item.subnet) : undefined;
      const known = at === undefined ? undefined : all[at];
      if (at !== undefined && isMap(known) && isMap(item)) {
        all[at] = joinMaps(known, item, path);
        continue;
      }
      const added = plain(item);
      if (isMap(added)) places.set(added.subnet, all.length);
      all.push(added);
    }
    return all;
  },
};

const each = (rule: MergeRule, ...patterns: readonly string[]) => patterns.map((pattern) => [pattern, rule] as const);
const ofService = (keys: string) => keys.split(" ").map((key) => `services.*.${key}`);

/** Merge rules by path, as in compose-go's own table; all other values are merged by their form. */
const RULES: ReadonlyMap<string, MergeRule> = new Map<string, MergeRule>([
  ...each("replace", ...ofService("command entrypoint healthcheck.test")),
  ...each(asList, ...ofService("dns dns_opt dns_search env_file label_file tmpfs")),
  ...each(PAIRS, ...ofService("annotations environment labels sysctls deploy.labels")),
  ...each(PAIRS, ...ofService("build.args build.additional_contexts build.labels")),
  ...each(PAIRS, "networks.*.labels", "volumes.*.labels"),
  ...each(asHosts, ...ofService("extra_hosts build.extra_hosts")),
  ...each(asMapOf("context"), ...ofService("build")),
  ...each(asMapOf("service"), ...ofService("extends")),
  ...each(asNames({ condition: "service_started", required: true }), ...ofService("depends_on")),
  ...each(asNames(null), ...ofService("networks")),
  ...each(LOGGING, ...ofService("logging")),
  ...each(LIMIT, ...ofService("ulimits.*")),
  ...each(SUBNETS, "networks.*.ipam.config"),
]);

function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return String(value).length + 1;
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + 3 + lengthOf(item), 2);
}

const isMap = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Tagged);
