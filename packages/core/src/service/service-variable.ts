import { heldUrls, type MagicSource, magicValues, urlValue } from "../compose/magic.ts";
import { readMagic } from "../compose/magic-key.ts";
import type { ComposeVariable } from "../compose/variables.ts";
import { newEnv } from "../env/env.ts";
import type { EnvFields, EnvRecord } from "../ports/records.ts";
import type { UrlPlan } from "./service-url-plan.ts";

export interface VariablePlan {
  readonly insert: readonly EnvFields[];
  readonly update: readonly { readonly uuid: string; readonly change: Partial<EnvFields> }[];
  /** Uuids. */
  readonly delete: readonly string[];
}

/** How a URL is reached: with the port of the server's proxy where it is not the usual one. */
type PublicUrl = (url: string) => string;

export interface VariablesInput {
  readonly variables: readonly ComposeVariable[];
  /** Those of the compose file that is replaced; none for a new service. */
  readonly replaced?: readonly ComposeVariable[];
  readonly existing: readonly EnvRecord[];
  readonly urls: UrlPlan["urls"];
  readonly publicUrl: PublicUrl;
  readonly source: MagicSource;
  readonly now: Date;
  /** The compose file is new: generated variables that it no longer names are deleted. */
  readonly isNewCompose: boolean;
}

/**
 * The changes of a service's variables. Existing values stay, generated or set by a user, except URLs of containers
 * whose URLs change, and values that are the default of the replaced compose file: they follow the new default.
 */
export function planVariables(input: VariablesInput): VariablePlan {
  const { variables, replaced = [], existing, urls, publicUrl, source, now, isNewCompose } = input;
  const byKey = new Map(existing.map((env) => [env.key, env]));
  const values = new Map(existing.map(({ key, value }) => [key, value]));
  const made = magicValues(variables, { source, now, existing: values });
  const keys = variables.map(({ key }) => key);
  const urlOf = valuesOfUrls(urls, keys, publicUrl);
  const changed = new Map([
    ...changedDefaults(replaced, variables, values),
    ...changedUrlValues(urls, keys, publicUrl),
  ]);

  const wanted = new Map(variables.map((variable) => [variable.key, variable]));
  for (const key of made.keys()) {
    if (!wanted.has(key)) wanted.set(key, { key, fallback: null, isRequired: false, comment: null });
  }
  return {
    insert: [...wanted.values()]
      .filter(({ key }) => !byKey.has(key))
      .map((variable) =>
        fieldsOf(variable, urlOf.has(variable.key) ? urlOf.get(variable.key) : made.get(variable.key)),
      ),
    update: existing.flatMap((env) => {
      const change = changeOf(env, wanted.get(env.key), changed);
      return Object.keys(change).length > 0 ? [{ uuid: env.uuid, change }] : [];
    }),
    delete: isNewCompose ? existing.filter(({ key }) => isUnused(key, wanted)).map(({ uuid }) => uuid) : [],
  };
}

/** The new default of each variable whose value is the old one, by key. A default that was removed leaves its value. */
function changedDefaults(
  replaced: readonly ComposeVariable[],
  variables: readonly ComposeVariable[],
  values: ReadonlyMap<string, string | null>,
): ReadonlyMap<string, string> {
  const old = new Map(replaced.map((variable) => [variable.key, firstValue(variable)]));
  return new Map(
    variables.flatMap(({ key, fallback }) => {
      const isUntouched = old.has(key) && values.get(key) === old.get(key);
      return isUntouched && fallback !== null && readMagic(key) === undefined ? [[key, fallback] as const] : [];
    }),
  );
}

/** The new value of each variable with a changed URL, by key. */
export const changedUrlValues = (urls: UrlPlan["urls"], keys: readonly string[], publicUrl: PublicUrl) =>
  new Map(
    [...heldUrls(urls, keys)].flatMap(([key, { url, isChanged }]) =>
      isChanged ? [[key, urlValue(key, url, publicUrl)]] : [],
    ),
  );

const valuesOfUrls = (urls: UrlPlan["urls"], keys: readonly string[], publicUrl: PublicUrl) =>
  new Map([...heldUrls(urls, keys)].map(([key, { url }]) => [key, urlValue(key, url, publicUrl)]));

function fieldsOf(variable: ComposeVariable, value: string | null | undefined): EnvFields {
  const { key, isRequired, comment } = variable;
  return {
    ...newEnv({ key, value: value === undefined ? firstValue(variable) : value, comment }),
    is_required: isRequired,
  };
}

/** The value of a variable that Berth does not generate, while nobody has set another. */
function firstValue({ key, fallback }: ComposeVariable): string | null {
  const isUnknownMagic = readMagic(key)?.command === null;
  return fallback ?? (isUnknownMagic ? null : "");
}

function changeOf(env: EnvRecord, wanted: ComposeVariable | undefined, changed: ReadonlyMap<string, string | null>) {
  const value = changed.get(env.key);
  return {
    ...(value === undefined || value === env.value ? {} : { value }),
    ...(wanted === undefined || wanted.isRequired === env.is_required ? {} : { is_required: wanted.isRequired }),
    ...(wanted?.comment && env.comment === null ? { comment: wanted.comment } : {}),
  };
}

/** A generated variable that is no longer named. The key that signs SUPABASE tokens stays while they are used. */
function isUnused(key: string, wanted: ReadonlyMap<string, ComposeVariable>): boolean {
  const command = readMagic(key)?.command ?? null;
  if (command === null || wanted.has(key)) return false;
  const hasTokens = [...wanted.keys()].some((name) => /^SERVICE_SUPABASE(ANON|SERVICE)_/.test(name));
  return !(key === "SERVICE_PASSWORD_JWT" && hasTokens);
}
