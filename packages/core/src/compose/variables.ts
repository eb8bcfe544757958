import type { EnvironmentEntry } from "./environment.ts";
import { isGiven } from "./given-key.ts";
import { isMade, magicUrlOf, readMagic } from "./magic-key.ts";
import { firstValueOf, referencesOf } from "./reference.ts";
import { knownUrls, type UrlContainer, type WantedUrl, wantedUrls } from "./wanted-urls.ts";

/** A variable that a compose file uses, and that its service therefore has. */
export interface ComposeVariable {
  readonly key: string;
  /** Used while the variable has no value. */
  readonly fallback: string | null;
  readonly isRequired: boolean;
  /** Why it is required, as written in the file. */
  readonly reason?: string;
  readonly comment: string | null;
}

interface Mention extends ComposeVariable {
  /** The container in whose `environment` the variable is a key; `null` elsewhere. */
  readonly container: string | null;
  readonly value: string | null;
}

export interface UsedVariables {
  /**
   * In the order of the file, without duplicates; without the names of containers and what else is known only at the
   * start.
   */
  readonly variables: readonly ComposeVariable[];
  /** URLs that the file asks for. */
  readonly urls: readonly WantedUrl[];
}

export interface TextOfContainers {
  readonly environments: ReadonlyMap<string, readonly EnvironmentEntry[]>;
  /** All other texts of the file that are interpolated. */
  readonly texts: readonly string[];
  /** Containers that can have URLs. */
  readonly applications: readonly UrlContainer[];
}

/** The variables and URLs that a compose file needs. */
export function usedVariables({ environments, texts, applications }: TextOfContainers): UsedVariables {
  const mentions = [
    ...[...environments].flatMap(([container, entries]) => entries.flatMap((entry) => ofEntry(container, entry))),
    ...texts.flatMap((text) => referencesOf(text).map((reference) => mentionOf(reference, null))),
  ].filter(({ key }) => isKey(key) && !isGiven(key) && readMagic(key)?.command !== "NAME");
  const variables = merged(mentions);
  const empty = new Set(variables.flatMap(({ key, fallback }) => (fallback ? [] : [key])));
  const known = knownUrls(applications, (key) => empty.has(key));
  return { variables, urls: [...wantedUrls(mentions, applications), ...known] };
}

/** The same names and length as for all variables. */
const isKey = (key: string): boolean => /^[A-Za-z_][A-Za-z0-9_.]{0,254}$/.test(key);

function ofEntry(container: string, { key, value, comment }: EnvironmentEntry): readonly Mention[] {
  const inValue = [...firstValueOf(value ?? ""), ...referencesOf(value ?? "")].map((reference) =>
    mentionOf(reference, comment),
  );
  // `SERVICE_KEY=x` is a literal value for the program, not a generated variable.
  if (isMade(key) || value === null) {
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
  // URL and host variables always exist together, each with and without port.
  for (const { key } of mentions) {
    for (const twin of magicUrlOf(key)?.keys ?? []) {
      if (!variables.has(twin)) variables.set(twin, { key: twin, fallback: null, isRequired: false, comment: null });
    }
  }
  return [...variables.values()];
}
