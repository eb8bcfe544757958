import type { EnvironmentEntry } from "./environment.ts";
import { isMade, magicUrlOf, readMagic } from "./magic-key.ts";
import { firstValueOf, referencesOf } from "./reference.ts";
import { knownUrls, type UrlContainer, type WantedUrl, wantedUrls } from "./wanted-urls.ts";

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

export interface TextOfContainers {
  readonly environments: ReadonlyMap<string, readonly EnvironmentEntry[]>;
  /** All other texts of the file that the compose tool interpolates. */
  readonly texts: readonly string[];
  /** Containers that may have URLs. */
  readonly applications: readonly UrlContainer[];
}

/** The variables and URLs that a compose file needs. */
export function usedVariables({ environments, texts, applications }: TextOfContainers): UsedVariables {
  const mentions = [
    ...[...environments].flatMap(([container, entries]) => entries.flatMap((entry) => ofEntry(container, entry))),
    ...texts.flatMap((text) => referencesOf(text).map((reference) => mentionOf(reference, null))),
  ].filter(({ key }) => isKey(key) && readMagic(key)?.command !== "NAME");
  const variables = merged(mentions);
  const empty = new Set(variables.flatMap(({ key, fallback }) => (fallback ? [] : [key])));
  const known = knownUrls(applications, (key) => empty.has(key));
  return { variables, urls: [...wantedUrls(mentions, applications), ...known] };
}

/** As the names of variables are everywhere, and as long. */
const isKey = (key: string): boolean => /^[A-Za-z_][A-Za-z0-9_.]{0,254}$/.test(key);

function ofEntry(container: string, { key, value, comment }: EnvironmentEntry): readonly Mention[] {
  const inValue = [...firstValueOf(value ?? ""), ...referencesOf(value ?? "")].map((reference) =>
    mentionOf(reference, comment),
  );
  // `SERVICE_KEY=x` is a variable of the program's own, of which Berth makes nothing.
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
  // A URL and its host are always there together, with a port and without.
  for (const { key } of mentions) {
    for (const twin of magicUrlOf(key)?.keys ?? []) {
      if (!variables.has(twin)) variables.set(twin, { key: twin, fallback: null, isRequired: false, comment: null });
    }
  }
  return [...variables.values()];
}
