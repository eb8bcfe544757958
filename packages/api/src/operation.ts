import { DomainError, type ErrorCode } from "@berth/core";
import { type Ability, requireAbility, type Scope } from "@berth/core/team";
import type { ZodType } from "zod";
import { asTrpcError } from "./errors.ts";
import { assertStorable } from "./storable.ts";
import { checkedEvents } from "./stream.ts";
import { type Context, type Control, t } from "./trpc.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Path = `/${string}`;

/** How an operation is reached and documented. Its input must be a strict object, its output a zod schema. */
export interface OperationOptions {
  readonly method: Method;
  /** Below `/api/v1`, e.g. `/applications/{uuid}`. Every parameter is a key of the input. */
  readonly path: Path;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Ability that the token needs; `null` makes the operation public. */
  readonly ability: Ability | null;
  /** Status of success. Default: 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * Input keys that are query parameters although the method has a body (POST, PUT, PATCH). A JSON body may carry them
   * too. With GET and DELETE all keys that are not in the path are query parameters.
   */
  readonly query?: readonly string[];
  /** Path parameter to input key, where the body's or query's key of the same name is another object's. */
  readonly pathKeys?: Readonly<Record<string, string>>;
  /** Further paths that answer the same, documented as deprecated. */
  readonly aliases?: readonly Path[];
  /** Serves GET on the same path too, documented as deprecated: for actions, which old clients call so. */
  readonly alsoByGet?: true;
  readonly deprecated?: true;
  /**
   * What it refuses beyond what is documented by itself: 401, 403 and 429 of every protected operation, 422 of one with
   * an input, 400 of one with a body, 404 of one with a path parameter.
   */
  readonly errors?: readonly ErrorCode[];
  /** The answer is this text instead of JSON; the output is a string. */
  readonly contentType?: "text/plain";
  /** The body is a file of one of these types, read from `ctx.upload`; input keys are path and query parameters. */
  readonly upload?: { readonly contentTypes: readonly [string, ...string[]]; readonly description: string };
  /** For a subscription: the schema of one event's data. */
  readonly events?: ZodType;
  /** Answers also while the API is switched off. */
  readonly evenWhenDisabled?: true;
  /** Not counted against the rate limit of requests, for probes. */
  readonly isUncounted?: true;
}

/** Groups of the description, in its order. */
export const TAGS = {
  Applications: "Code, images and compose files that Berth builds, runs and routes.",
  Services: "Several containers that belong together, described by a compose file.",
  Databases: "Databases with their data, users and backups.",
  Registries: "Logins for registries of images.",
  "S3 storages": "Buckets that backups are sent to.",
  Deployments: "The way from a source to what runs, step by step.",
  Projects: "What belongs together, split into environments.",
  Servers: "Where things run.",
  "Private Keys": "Keys of SSH, for servers and repositories.",
  Jobs: "Work in the background.",
  "Cloud Tokens": "Logins at providers that rent machines.",
  Hetzner: "What can be rented at Hetzner Cloud.",
  "GitHub Apps": "GitHub Apps that give access to repositories and report pushes.",
  Teams: "Who owns what.",
  Tokens: "What lets a program act for a team.",
  System: "The instance itself.",
} as const;
export type Tag = keyof typeof TAGS;

/**
 * The one way to define an operation, for REST and tRPC alike:
 * `operation({...}).input(z.strictObject({...})).output(Schema).query(({ ctx, input }) => ctx.control...)`.
 *
 * Inside, `ctx.scope` is who asks, and `ctx.control` the use cases in that scope. Refuses, before the input is looked
 * at: `auth.unauthenticated`, `auth.api_disabled`, `auth.missing_ability`.
 */
export function operation(options: OperationOptions & { readonly ability: null }): typeof openProcedure;
export function operation(
  options: OperationOptions & { readonly ability: Ability; readonly upload: NonNullable<OperationOptions["upload"]> },
): typeof uploadProcedure;
export function operation(options: OperationOptions & { readonly ability: Ability }): typeof scopedProcedure;
export function operation(options: OperationOptions) {
  const procedure = options.ability === null ? openProcedure : options.upload ? uploadProcedure : scopedProcedure;
  return procedure.meta({ operation: options });
}

const openProcedure = t.procedure.use(async ({ meta, getRawInput, next }) => {
  const raw = await rawInput(getRawInput);
  return settled(await next(), raw, meta?.operation.events);
});

const scopedProcedure = t.procedure.use(async ({ ctx, meta, getRawInput, next }) => {
  const scope = admitted(ctx, meta?.operation);
  const raw = await rawInput(getRawInput);
  const scoped: { scope: Scope; control: Control } = { scope, control: ctx.controlFor(scope) };
  return settled(await next({ ctx: scoped }), raw, meta?.operation.events);
});

const uploadProcedure = scopedProcedure.use(({ ctx, meta, next }) => {
  const { upload } = ctx.rest ?? {};
  if (upload) return next({ ctx: { upload } });
  const { method, path } = meta?.operation ?? {};
  throw asTrpcError(
    new DomainError("request.unsupported_media_type", `Files are uploaded by REST: ${method} /api/v1${path}.`),
  );
});

function admitted({ scope, isApiEnabled }: Context, options: OperationOptions | undefined): Scope {
  try {
    if (!scope) throw new DomainError("auth.unauthenticated", "Unauthenticated.");
    if (!isApiEnabled && !options?.evenWhenDisabled)
      throw new DomainError("auth.api_disabled", "API is disabled.", { details: { success: false } });
    // A procedure without options is none of ours: nobody but root gets in.
    requireAbility(scope, options?.ability ?? "root");
    return scope;
  } catch (refusal) {
    throw asTrpcError(refusal);
  }
}

async function rawInput(read: () => Promise<unknown>): Promise<unknown> {
  try {
    const raw = await read();
    assertStorable(raw);
    return raw;
  } catch (refusal) {
    throw asTrpcError(refusal);
  }
}

/** Gives errors their transport's code, and events their check. */
function settled<R extends { readonly ok: boolean }>(result: R, input: unknown, events: ZodType | undefined): R {
  if ("error" in result) throw asTrpcError(result.error, input);
  if (!events || !("data" in result)) return result;
  return { ...result, data: checkedEvents(result.data, events) };
}
