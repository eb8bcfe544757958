import { z } from "zod";
import { DomainError } from "../errors.ts";
import type { EnvRecord } from "../ports/records.ts";
import type { SeenVariable, SharedVariableFields, SharedVariableRecord } from "../ports/shared-variable.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { EnvCreate, type EnvironmentVariable, type EnvViewOptions, envView } from "./env.ts";
import {
  databaseIn,
  interpolate,
  nearReferencesIn,
  referencesIn,
  referenceText,
  type SharedScope,
  type SharedVariables,
} from "./env-value.ts";
import type { NamedValue } from "./secret-value.ts";

/** Limit per owner. */
export const SHARED_VARIABLES_MAX = 1000;

/** In a change `key` selects the variable, and fields that are not sent stay unchanged. */
export const SharedVariableCreate = EnvCreate.pick({
  key: true,
  value: true,
  is_multiline: true,
  is_shown_once: true,
  comment: true,
}).safeExtend({
  value: EnvCreate.shape.value.describe("Stored byte for byte. References in it are not replaced."),
});
export type SharedVariableCreate = z.infer<typeof SharedVariableCreate>;

export const SharedVariableBulk = z.strictObject({
  data: z
    .array(SharedVariableCreate)
    .min(1, "At least one variable.")
    .max(SHARED_VARIABLES_MAX, `At most ${SHARED_VARIABLES_MAX} at once.`)
    .describe("Variables to create or to change, each by its key. All of them or none."),
});
export type SharedVariableBulk = z.infer<typeof SharedVariableBulk>;

export const SharedVariable = z
  .object({
    uuid: z.string(),
    key: z.string(),
    value: z.string().nullable().optional().describe("Absent without read:sensitive, and when it is shown once."),
    reference: z.string().describe("The reference to use in environment variables."),
    comment: z.string().nullable(),
    is_multiline: z.boolean(),
    is_shown_once: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({
    id: "SharedVariable",
    description: "A value of a team, project, environment or server that environment variables refer to.",
  });
export type SharedVariable = z.infer<typeof SharedVariable>;

export const sharedVariableView = (
  scope: SharedScope,
  variable: SharedVariableRecord,
  maySeeSecrets: boolean,
): SharedVariable => ({
  uuid: variable.uuid,
  key: variable.key,
  ...(maySeeSecrets && !variable.is_shown_once ? { value: variable.value } : {}),
  reference: referenceText({ scope, key: variable.key }),
  comment: variable.comment,
  is_multiline: variable.is_multiline,
  is_shown_once: variable.is_shown_once,
  created_at: timestamp(variable.created_at),
  updated_at: timestamp(variable.updated_at),
});

/** A new variable, with defaults for fields that were not sent. */
export const newSharedVariable = ({
  key,
  value = null,
  comment = null,
  is_multiline = false,
  is_shown_once = false,
}: SharedVariableCreate): SharedVariableFields => ({ key, value, comment, is_multiline, is_shown_once });

/** The changed fields; the key only selects the variable. */
export const sharedVariableChange = ({ key: _key, ...change }: SharedVariableCreate): Partial<SharedVariableFields> =>
  // Fields that were not sent are dropped; the others have the types of the schema.
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

/** Values of references to these variables. A database that cannot be reached has none. */
export function sharedVariables(
  seen: readonly Pick<SeenVariable, "scope" | "key" | "value" | "problem">[],
): SharedVariables {
  const byScope = Map.groupBy(
    seen.filter(({ problem }) => problem === undefined),
    ({ scope }) => scope,
  );
  return Object.fromEntries(
    [...byScope].map(([scope, variables]) => [scope, new Map(variables.map(({ key, value }) => [key, value ?? ""]))]),
  );
}

/** Environment variables as programs get them. */
export interface ResolvedEnvs {
  /** With references replaced. */
  readonly envs: readonly EnvRecord[];
  /** The shared variables that were used, whose values must be hidden in logs. */
  readonly shared: readonly NamedValue[];
  /** Variables with references that have no target; they stay unchanged. */
  readonly unknown: readonly UnknownReferences[];
  /** Variables that reference a database which the resource cannot reach. */
  readonly unreachable: readonly UnreachableReference[];
}

export interface UnreachableReference extends Pick<EnvRecord, "key" | "is_preview"> {
  /** Why, and what to do. */
  readonly problem: string;
}

/** @throws DomainError `deploy.start_failed` if a variable references a database that the resource cannot reach */
export function requireReachable({ unreachable }: Pick<ResolvedEnvs, "unreachable">, isPreview: boolean): void {
  const first = unreachable.find(({ is_preview }) => is_preview === isPreview);
  if (first !== undefined) throw new DomainError("deploy.start_failed", `${first.key}: ${first.problem}`);
}

export interface UnknownReferences extends Pick<EnvRecord, "key" | "is_preview"> {
  /** In the form `{{ team.KEY }}`. */
  readonly references: readonly string[];
}

/**
 * Limit of the text that references add to one resource's variables, since each of a thousand short ones may expand
 * to the longest value.
 */
const ADDED_LENGTH_MAX = 16_777_216; // Linux passes at most 6 MiB of variables and arguments to a program.

/** @throws DomainError `deploy.start_failed` if the expanded references exceed the limit */
export function resolveEnvs(envs: readonly EnvRecord[], seen: readonly SeenVariable[]): ResolvedEnvs {
  const shared = sharedVariables(seen);
  const problems = new Map(
    seen.flatMap((one) => (one.problem === undefined ? [] : [[referenceText(one), one.problem]])),
  );
  const lostOf = envs.map((env) => ({
    env,
    lost: lostIn(env.value, shared),
  }));
  const unknown = lostOf.flatMap(({ env: { key, is_preview }, lost }) => {
    const references = lost.filter((reference) => !problems.has(reference));
    return references.length === 0 ? [] : [{ key, is_preview, references }];
  });
  const unreachable = lostOf.flatMap(({ env: { key, is_preview }, lost }) =>
    lost.flatMap((reference) => {
      const problem = problems.get(reference);
      return problem === undefined ? [] : [{ key, is_preview, problem }];
    }),
  );
  let room = ADDED_LENGTH_MAX;
  const resolved = envs.map((env) => {
    const value = env.value === null ? null : interpolate(env.value, shared);
    room -= lengthOf(value) - lengthOf(env.value);
    if (room < 0) throw tooMuch();
    return { ...env, value };
  });
  return {
    envs: resolved,
    shared: seen.flatMap(namedValues),
    unknown,
    unreachable,
  };
}

/** References without a value, and what looks like a reference. */
const lostIn = (value: string | null, shared: SharedVariables): readonly string[] => {
  const without = referencesIn([value]).filter(({ scope, key }) => shared[scope]?.has(key) !== true);
  return [...new Set([...without.map(referenceText), ...nearReferencesIn(value ?? "").map(({ text }) => text)])];
};

/**
 * The password of a URL is hidden on its own too, since a program may print it without the URL. The other parts are no
 * secrets, and words such as `postgres` would be hidden everywhere.
 */
function namedValues(seen: SeenVariable): readonly NamedValue[] {
  const property = databaseIn(seen)?.property;
  if (property === undefined || seen.value === null) return [seen];
  // The name of a database, which is in the key, says nothing about whether the value is secret.
  if (property !== "url") return property === "password" ? [{ key: property, value: seen.value }] : [];
  const { password } = new URL(seen.value);
  return [seen, { key: "password", value: decodeURIComponent(password) }];
}

/** References are left unexpanded once an answer reaches the limit of a deployment. */
export function envViews(
  envs: readonly EnvRecord[],
  {
    seen,
    ...options
  }: Omit<EnvViewOptions, "shared" | "referenceProblem"> & { readonly seen: readonly SeenVariable[] },
): readonly EnvironmentVariable[] {
  // Values marked as shown once do not appear through references either.
  const shared = sharedVariables(seen.filter(({ is_shown_once }) => !is_shown_once));
  const problems = new Map(seen.map((one) => [referenceText(one), one.problem ?? null]));
  let room = ADDED_LENGTH_MAX;
  return envs.map((env) => {
    const referenceProblem = problemIn(env.value, problems);
    const view = envView(env, { ...options, referenceProblem, shared: room > 0 ? shared : {} });
    room -= lengthOf(view.real_value) - lengthOf(view.value);
    return view;
  });
}

/** @param problems Why the targets of references cannot be used, by the text of the reference. */
function problemIn(value: string | null, problems: ReadonlyMap<string, string | null>): string | null {
  const [near] = nearReferencesIn(value ?? "");
  if (near !== undefined) return `${near.text} is not replaced. ${near.remedy}`;
  for (const text of referencesIn([value]).map(referenceText)) {
    const problem = problems.get(text);
    if (problem === undefined) return `${text} has no target. Create it, or correct the reference.`;
    if (problem !== null) return problem;
  }
  return null;
}

const lengthOf = (value: string | null | undefined): number => value?.length ?? 0;

const tooMuch = () =>
  new DomainError(
    "deploy.start_failed",
    `The values that the variables refer to exceed ${ADDED_LENGTH_MAX} characters. Use fewer references, or mount a file, then deploy again.`,
  );
