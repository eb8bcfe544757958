import { z } from "zod";
import { flag, lenient } from "../input.ts";
import type { EnvFields, EnvRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { isShared, realValue, type SharedVariables } from "./env-value.ts";

export const ENV_VALUE_LENGTH_MAX = 131_072; // The limit of Linux for one string in an environment (MAX_ARG_STRLEN).
/** Limit per bulk request. */
const BULK_MAX = 1000;

const EnvKey = z
  .string()
  .min(1, "This field is required.")
  .max(255, "At most 255 characters.")
  .regex(/^[A-Za-z_][A-Za-z0-9_.]*$/, "Only letters, digits, _ and . are allowed, and no digit or . at the beginning.")
  .describe("Name of the variable.");

// Never trimmed or nulled: the value is stored byte for byte.
const EnvValue = z
  .string()
  .max(ENV_VALUE_LENGTH_MAX, `At most ${ENV_VALUE_LENGTH_MAX} characters.`)
  .nullable()
  .describe("Stored byte for byte. May contain references such as {{ project.KEY }}.");

const SETTABLE = {
  value: EnvValue.optional(),
  is_preview: flag("Belongs to preview deployments."),
  is_literal: flag("Shown between single quotes in real_value."),
  is_multiline: flag("Has several lines."),
  is_shown_once: flag(
    "Never shown again, not even with `read:sensitive`. Can be turned off only together with a new value.",
  ),
  is_runtime: flag("Given to the running application. Default true."),
  is_buildtime: flag("Given to the build. Default true."),
  comment: lenient(z.string().max(256, "At most 256 characters.").nullable())
    .optional()
    .describe("Free text, shown to the team."),
};

export const EnvCreate = z.strictObject({ key: EnvKey, ...SETTABLE });
export type EnvCreate = z.infer<typeof EnvCreate>;

/** `key` and `is_preview` select the variable; fields that are not sent stay unchanged. */
export const EnvUpdate = z.strictObject({ key: EnvKey, ...SETTABLE });
export type EnvUpdate = z.infer<typeof EnvUpdate>;

export const EnvBulk = z.strictObject({
  data: z
    .array(EnvCreate)
    .max(BULK_MAX, `At most ${BULK_MAX} at once.`)
    .optional()
    .describe("Variables to create or to change, each by its key. All of them or none; at least one."),
});
export type EnvBulk = z.infer<typeof EnvBulk>;

export const EnvironmentVariable = z
  .object({
    uuid: z.string(),
    key: z.string(),
    value: z.string().nullable().optional().describe("Absent without read:sensitive."),
    real_value: z
      .string()
      .nullable()
      .optional()
      .describe("With shared references replaced, then quoted. Absent without read:sensitive."),
    comment: z.string().nullable(),
    is_preview: z.boolean(),
    is_literal: z.boolean(),
    is_multiline: z.boolean(),
    is_shown_once: z.boolean(),
    is_runtime: z.boolean(),
    is_buildtime: z.boolean(),
    is_required: z.boolean(),
    is_really_required: z.boolean().describe("Required and still empty."),
    is_shared: z.boolean().describe("The whole value is one shared reference."),
    reference_problem: z
      .string()
      .nullable()
      .describe("Why a reference in its value is not replaced, and what to do. Null without read:sensitive."),
    is_nixpacks: z.boolean().describe("The key starts with NIXPACKS_."),
    is_coolify: z.boolean().describe("The key starts with SERVICE_."),
    order: z.int().nullable(),
    version: z.string().describe("Version of Berth."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "EnvironmentVariable", description: "An environment variable of an application, service or database." });
export type EnvironmentVariable = z.infer<typeof EnvironmentVariable>;

export interface EnvViewOptions {
  readonly maySeeSecrets: boolean;
  readonly shared: SharedVariables;
  readonly version: string;
  /** Why a reference in the value is not replaced. */
  readonly referenceProblem: string | null;
}

export function envView(
  env: EnvRecord,
  { maySeeSecrets, shared, version, referenceProblem }: EnvViewOptions,
): EnvironmentVariable {
  const real_value = realValue(env, shared);
  const isShown = maySeeSecrets && !env.is_shown_once;
  return {
    uuid: env.uuid,
    key: env.key,
    ...(isShown ? { value: env.value, real_value } : {}),
    comment: env.comment,
    is_preview: env.is_preview,
    is_literal: env.is_literal,
    is_multiline: env.is_multiline,
    is_shown_once: env.is_shown_once,
    is_runtime: env.is_runtime,
    is_buildtime: env.is_buildtime,
    is_required: env.is_required,
    is_really_required: env.is_required && (real_value ?? "") === "",
    is_shared: isShared(env.value),
    reference_problem: isShown ? referenceProblem : null,
    is_nixpacks: env.key.startsWith("NIXPACKS_"),
    is_coolify: env.key.startsWith("SERVICE_"),
    order: env.order,
    version,
    created_at: timestamp(env.created_at),
    updated_at: timestamp(env.updated_at),
  };
}

const DEFAULTS: Omit<EnvFields, "key"> = {
  value: null,
  is_preview: false,
  is_literal: false,
  is_multiline: false,
  is_shown_once: false,
  is_runtime: true,
  is_buildtime: true,
  is_required: false,
  comment: null,
  order: null,
};

/** A new variable, with defaults for fields that were not sent. */
export const newEnv = (sent: EnvCreate): EnvFields => ({ ...DEFAULTS, ...present(sent), key: sent.key });

/** The changed fields; the key and `is_preview` only select the variable. */
export function envChange(sent: EnvUpdate): Partial<EnvFields> {
  const { key: _key, is_preview: _isPreview, ...change } = present(sent);
  return change;
}

function present(sent: EnvUpdate): Partial<EnvFields> & { key: string } {
  // Fields that were not sent are dropped; the others have the types of the schema.
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Partial<EnvFields> & {
    key: string;
  };
}

const TWINNED = [
  "value",
  "is_literal",
  "is_multiline",
  "is_shown_once",
  "is_runtime",
  "is_buildtime",
  "comment",
] as const;

/** The preview variable that is created together with a normal one. */
export const previewTwin = (env: EnvFields): EnvFields => ({ ...env, is_preview: true });

/** Whether a preview variable is still equal to its normal one, so that it follows its changes. */
export const mirrorsPreview = (preview: EnvFields, normal: EnvFields): boolean =>
  TWINNED.every((field) => preview[field] === normal[field]);
