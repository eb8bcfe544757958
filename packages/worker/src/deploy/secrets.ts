import { isShared, type ResolvedEnvs } from "@berth/core/env";
import type { DomainClaim, EnvRecord } from "@berth/core/ports";

/** Values of variables by their names, for what is put together of them. */
export const valuesByKey = (
  envs: readonly Pick<EnvRecord, "key" | "value">[],
): Readonly<Record<string, string | null>> => Object.fromEntries(envs.map(({ key, value }) => [key, value]));

/** The texts of a compose file that are long enough to be hidden, as for variables. */
export const tellingOf = (texts: readonly string[]): readonly string[] => texts.filter(isTelling);

interface SecretVariables extends Pick<ResolvedEnvs, "sharedValues"> {
  readonly envs: readonly Pick<EnvRecord, "value">[];
}

/**
 * The texts that must not stand in a log. A variable's value counts unless it is so short or so common that hiding it
 * would only make the log unreadable: `true`, `production`, a port, the application's own address.
 */
export function secretsOf(
  { envs, sharedValues }: SecretVariables,
  ownTexts: readonly (string | null)[],
  domains: readonly DomainClaim[],
): readonly string[] {
  const addresses = new Set(domains.flatMap(({ host, url }) => [host, addressOf(url)]));
  const isPublic = (value: string) => addresses.has(addressOf(value));
  // A shared value is a secret also where it is a part of another: a program may show that part alone.
  const values = [...envs.map(({ value }) => value ?? ""), ...sharedValues].filter(
    // A reference that leads to nothing is the name of a value, and none itself.
    (value) => isTelling(value) && !isPublic(value) && !isShared(value),
  );
  const own = ownTexts.filter((value) => value !== null && value.length >= LENGTH_MIN);
  return [...new Set([...values, ...own])].filter((value) => value !== null);
}

/** A variable says a URL without its scheme, or without the port of the container, and it is the same. */
const addressOf = (url: string): string =>
  url
    .replace(/^https?:\/\//, "")
    .replace(/^([^/:]+):\d{1,5}(?=\/|$)/, "$1")
    .replace(/\/$/, "");

/**
 * Whether a secret can be hidden in our own sentences: a value that is a plain word, such as `release`, stands in them
 * by chance, and hiding it there would tell that it is a secret.
 */
export const isUnmistakable = (secret: string): boolean => !/^[A-Za-z]{1,11}$/.test(secret);

function isTelling(value: string): boolean {
  const text = value.trim();
  return text.length >= LENGTH_MIN && !COMMON.has(text.toLowerCase()) && !/^\d{1,5}$/.test(text);
}

const LENGTH_MIN = 4;
const COMMON: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "none", "undefined", "auto", "enabled", "disabled"],
  ...["production", "development", "staging", "test", "testing", "local", "default"],
  ...["debug", "info", "warn", "warning", "error", "silent", "verbose", "trace"],
  ...["localhost", "127.0.0.1", "0.0.0.0", "http", "https", "node", "utf8", "utf-8", "en_us.utf-8", "c.utf-8"],
]);
