import { parseCompose } from "@berth/core/compose";
import { type DeploySubject, deployedKind } from "@berth/core/deploy";
import { isSecretValue, isShared, type NamedValue, type ResolvedEnvs } from "@berth/core/env";
import type { DomainClaim, EnvRecord } from "@berth/core/ports";

/** Values of variables by name. */
export const valuesByKey = (
  envs: readonly Pick<EnvRecord, "key" | "value">[],
): Readonly<Record<string, string | null>> => Object.fromEntries(envs.map(({ key, value }) => [key, value]));

/** Texts found under secret names that are long enough to be hidden. */
export const secretTexts = (texts: readonly string[], ownWords: ReadonlySet<string> = new Set()): readonly string[] =>
  texts.filter((value) => isSecretValue({ key: "secret", value }, ownWords));

interface SecretTexts extends Pick<ResolvedEnvs, "shared"> {
  readonly envs: readonly NamedValue[];
  /** Secrets of the resource itself. */
  readonly own: readonly (string | null)[];
  /** Values in a compose file whose keys name secrets. */
  readonly inline: readonly string[];
  readonly domains: readonly DomainClaim[];
  readonly subject?: DeploySubject | undefined;
}

/** All texts to hide in a log: `isSecretValue` decides. */
export function secretsOf({ envs, shared, own, inline, domains, subject }: SecretTexts): readonly string[] {
  const words = ownWords(subject);
  const addresses = new Set(domains.flatMap(({ host, url }) => [host, addressOf(url)]));
  // A shared value is hidden by itself, since a program may print only that part of another value.
  const values = [...envs, ...shared]
    .filter((variable) => isSecretValue(variable, words))
    .flatMap(({ value }) => value ?? [])
    // An unresolved reference contains a name, not a value.
    .filter((value) => !addresses.has(addressOf(value)) && !isShared(value));
  const named = secretTexts(inline, words);
  const others = own.filter((value) => value !== null && value.length >= LENGTH_MIN);
  return [...new Set([...values, ...others, ...named])].filter((value) => value !== null);
}

/** Names and images of the resource, whole and split into parts: never treated as secrets. */
function ownWords(subject: DeploySubject | undefined): ReadonlySet<string> {
  if (subject === undefined) return new Set();
  const kind = deployedKind(subject);
  const compose = parseCompose(kind.composeText(subject) ?? "");
  const containers = "problems" in compose ? [] : compose.containers;
  const { name, uuid } = subject.record;
  const images = [...containers.map(({ image }) => image ?? ""), kind.image(subject)];
  const words = [name, uuid, ...containers.map((container) => container.name), ...images.flatMap(imageParts)];
  return new Set(words.filter((word) => word !== ""));
}

const imageParts = (image: string): readonly string[] => [image, ...image.split(/[/:@]/)];

/** A URL without scheme and container port, so that its variants compare as equal. */
const addressOf = (url: string): string =>
  url
    .replace(/^https?:\/\//, "")
    .replace(/^([^/:]+):\d{1,5}(?=\/|$)/, "$1")
    .replace(/\/$/, "");

/**
 * Whether a secret can be hidden in our own sentences. A plain word such as `release` occurs there by chance, and
 * hiding it would reveal that it is the secret.
 */
export const isSafeToRedact = (secret: string): boolean => !/^[A-Za-z]{1,11}$/.test(secret);

const LENGTH_MIN = 4;
