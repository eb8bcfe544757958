import type { EnvironmentEntry } from "./environment.ts";
import { type MagicUrl, magicUrlOf, readMagic } from "./magic-key.ts";
import { referencesOf } from "./reference.ts";

/** A variable that a compose text uses, and that its service therefore has. */
export interface ComposeVariable {
  readonly key: string;
  /** Used when nobody gives it a value. */
  readonly fallback: string | null;
  readonly isRequired: boolean;
  /** Why it is required, in the words of the text. */
  readonly reason?: string;
  readonly comment: string | null;
}

interface Mention extends ComposeVariable {
  /** It stands on the left of an entry, so it says something of that container. */
  readonly container: string | null;
  readonly value: string | null;
}

export interface UsedVariables {
  /** By key, in the order of the text; without the names of containers, which are given at the start. */
  readonly variables: readonly ComposeVariable[];
  /** URLs that the text asks for. */
  readonly urls: readonly WantedUrl[];
}

/** A URL that is made because the text names `SERVICE_URL_X` or `SERVICE_FQDN_X`. */
export interface WantedUrl extends Omit<MagicUrl, "command"> {
  /** Container that gets what comes for it; `null`: none of the service's. */
  readonly container: string | null;
  /** Below its host: `/api`, or empty. */
  readonly path: string;
}

export interface TextOfContainers {
  readonly environments: ReadonlyMap<string, readonly EnvironmentEntry[]>;
  /** All other texts of the file that the compose tool interpolates. */
  readonly texts: readonly string[];
  /** Names of the containers that may have URLs. */
  readonly applications: readonly string[];
}

/** The variables and URLs that a compose file needs. */
export function usedVariables({ environments, texts, applications }: TextOfContainers): UsedVariables {
  const mentions = [
    ...[...environments].flatMap(([container, entries]) => entries.flatMap((entry) => ofEntry(container, entry))),
    ...texts.flatMap((text) => referencesOf(text).map((reference) => mentionOf(reference, null))),
  ].filter(({ key }) => isKey(key) && readMagic(key)?.command !== "NAME");
  return { variables: merged(mentions), urls: wantedUrls(mentions, applications) };
}

/** As the names of variables are everywhere, and as long. */
const isKey = (key: string): boolean => /^[A-Za-z_][A-Za-z0-9_.]{0,254}$/.test(key);

function ofEntry(container: string, { key, value, comment }: EnvironmentEntry): readonly Mention[] {
  const inValue = referencesOf(value ?? "").map((reference) => mentionOf(reference, comment));
  if (readMagic(key) !== undefined || value === null) {
    return [{ key, fallback: null, isRequired: false, comment, container, value }, ...inValue];
  }
  return inValue;
}

const mentionOf = (reference: Omit<ComposeVariable, "comment">, comment: string | null): Mention => ({
  ...reference,
  comment,
  container: null,
  value: null,
});

function merged(mentions: readonly Mention[]): readonly ComposeVariable[] {
  const variables = new Map<string, ComposeVariable>();
  for (const { key, fallback, isRequired, comment, ...mention } of mentions) {
    const known = variables.get(key);
    const reason = known?.reason ?? mention.reason;
    variables.set(key, {
      key,
      fallback: known?.fallback ?? fallback,
      isRequired: isRequired || known?.isRequired === true,
      ...(reason === undefined ? {} : { reason }),
      comment: known?.comment ?? comment,
    });
  }
  // A URL and its host are always there together, with a port and without.
  for (const { key } of mentions) {
    for (const twin of magicUrlOf(key)?.keys ?? []) {
      if (!variables.has(twin)) variables.set(twin, { key: twin, fallback: null, isRequired: false, comment: null });
    }
  }
  return [...variables.values()];
}

/**
 * One for each name. It leads to the container that has the name, else to the first in whose entries it stands on the
 * left; one that is only read, and names no container, is a value and nothing more.
 */
function wantedUrls(mentions: readonly Mention[], applications: readonly string[]): readonly WantedUrl[] {
  const wanted = new Map<string, WantedUrl>();
  // The first of several that are alike. Each of thousands of mentions would else be compared with each container.
  const byId = new Map(applications.map((name) => [comparable(name), name] as const).reverse());
  const all = new Set(applications);
  for (const { key, container: owner, value } of mentions) {
    const url = magicUrlOf(key);
    if (url === undefined) continue;
    const id = comparable(url.name);
    const known = wanted.get(id);
    const named = byId.get(id);
    const own = owner !== null && all.has(owner) ? owner : null;
    wanted.set(id, {
      name: known?.name ?? url.name,
      container: named ?? known?.container ?? own,
      port: known?.port ?? url.port,
      path: known?.path || (value?.startsWith("/") && value !== "/" ? value : ""),
    });
  }
  return [...wanted.values()];
}

/** `MY_APP` of a variable is `my-app` of a container. */
const comparable = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
