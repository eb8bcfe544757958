import type { Artifact } from "../deploy/artifact.ts";
import { saysSecret } from "../env/secret-value.ts";
import { isMade } from "./magic-key.ts";
import { parseCompose, parseWrittenCompose } from "./parse.ts";
import { interpolated } from "./reference.ts";

type Values = Readonly<Record<string, string | null>>;

/**
 * Secrets that are written into a compose file instead of variables: values with secret names, words after options
 * with secret names, and passwords in URLs.
 * @param values Variables, for values that are composed of both.
 * @throws DomainError `deploy.start_failed` when the file exceeds a limit
 */
export const inlineSecrets = (text: string, values: Values): readonly string[] => secretsOf(parseCompose(text), values);

function secretsOf(compose: ReturnType<typeof parseCompose>, values: Values): readonly string[] {
  if ("problems" in compose) return [];
  const variables = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value ?? ""]));
  const parts = [...new Set(secretParts(compose.document, undefined, { partsLeft: PARTS_MAX }))];
  // Interpolation turns an array of strings into an array of strings.
  const read = interpolated(parts, variables) as readonly string[];
  // Names of containers are not hidden, since every other line of a log contains them.
  const isTelling = (secret: string) => secret !== "" && !Object.hasOwn(compose.document.services, secret);
  return [...new Set(read.map((secret) => secret.trim()))].filter(isTelling);
}

/** Secrets of the built compose file; empty for other artifacts. */
export function inlineSecretsOf(artifact: Artifact | undefined, values: Values): readonly string[] {
  if (artifact?.type !== "stack") return [];
  const { compose, variables = {} } = artifact;
  const ofFiles = Object.entries(variables).flatMap(([key, value]) =>
    (saysSecret(key) || isMade(key)) && value !== "" ? [value] : [],
  );
  return [...new Set([...ofFiles, ...secretsOf(parseWrittenCompose(compose), { ...variables, ...values })])];
}

/** Remaining limits for all texts of a file: words of commands, and URLs. Real files stay far below. */
interface Effort {
  partsLeft: number;
}

const PARTS_MAX = 20_000;

function* counted<T>(all: Iterable<T>, effort: Effort): Generator<T, void> {
  for (const one of all) {
    effort.partsLeft -= 1;
    if (effort.partsLeft < 0) return;
    yield one;
  }
}

/** @param key Key of the value in its map, or the option before it in its list. */
function secretParts(value: unknown, key: string | undefined, effort: Effort): readonly string[] {
  if (Array.isArray(value)) {
    // `--requirepass`, `secret`: an option and its value as two words of a command.
    return value.flatMap((item, index) =>
      secretParts(item, isOption(value[index - 1]) ? value[index - 1] : undefined, effort),
    );
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, item]) => secretParts(item, name, effort));
  }
  return typeof value === "string" || typeof value === "number" ? secretsIn(String(value), key, effort) : [];
}

function secretsIn(text: string, key: string | undefined, effort: Effort): readonly string[] {
  if (key !== undefined && saysSecret(key)) return [text];
  const passwords = [...counted(text.matchAll(URL_PASSWORD), effort)].flatMap(([, password]) => password ?? []);
  const words = key === "command" || key === "entrypoint" ? optionsOf(text, effort) : [text];
  const assigned = words.flatMap((word) => {
    const [, name, rest] = ASSIGNMENT.exec(word) ?? [];
    return name !== undefined && rest !== undefined && saysSecret(name) ? [rest] : [];
  });
  return [...passwords, ...assigned];
}

const isOption = (word: unknown): word is string => typeof word === "string" && /^--?[^=]+$/.test(word);

/** `--password=x`, or `--requirepass x` in a command that is one text. */
function optionsOf(text: string, effort: Effort): readonly string[] {
  const words = [...counted(text.matchAll(/"[^"]*"|'[^']*'|\S+/g), effort)];
  const bare = words.map(([word]) => word.replace(/^(["'])(.*)\1$/, "$2"));
  return bare.map((word, index) =>
    isOption(word) && bare[index + 1] !== undefined ? `${word}=${bare[index + 1]}` : word,
  );
}

// Matches only the end of the scheme: matching all of it would be quadratic for a long word.
const URL_PASSWORD = /(?<=[a-z0-9+.-]):\/\/[^\s:/?#@]*:([^\s/?#@]+)@/gi;
const ASSIGNMENT = /^([A-Za-z_-][\w.-]*)=([\s\S]+)$/;
