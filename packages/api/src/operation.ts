import { DomainError } from "@berth/core";
import { type Ability, requireAbility, requireRootTeam, requireSecondFactorIn, type Scope } from "@berth/core/team";
import type { TRPCProcedureType as ProcedureType } from "@trpc/server";
import type { ZodType } from "zod";
import { readBounded } from "./bounded-read.ts";
import { asTrpcError } from "./errors.ts";
import type { OperationOptions } from "./operation-options.ts";
import { assertStorable } from "./storable.ts";
import { checkedEvents } from "./stream.ts";
import { type Control, type RequestContext, t } from "./trpc.ts";

/**
 * The only way to define an operation, for both REST and tRPC:
 * `operation({...}).input(z.strictObject({...})).output(Schema).query(({ ctx, input }) => ctx.control...)`.
 *
 * `ctx.scope` is the caller's scope, and `ctx.control` has the use cases in that scope. Refused before the input is
 * validated: `auth.unauthenticated`, `auth.api_disabled`, `auth.missing_ability`.
 */
export function operation(options: OperationOptions & { readonly ability: null }): typeof openProcedure;
export function operation(
  options: OperationOptions & { readonly ability: Ability; readonly upload: NonNullable<OperationOptions["upload"]> },
): typeof uploadProcedure;
export function operation(
  options: OperationOptions & {
    readonly ability: Ability;
    readonly download: NonNullable<OperationOptions["download"]>;
  },
): typeof downloadProcedure;
export function operation(options: OperationOptions & { readonly ability: Ability }): typeof scopedProcedure;
export function operation(options: OperationOptions) {
  const procedure = options.ability === null ? openProcedure : procedureFor(options);
  return procedure.meta({ operation: options });
}

// Each middleware of tRPC copies the whole call, so there is one for everything that precedes the input's validation.
const openProcedure = t.procedure.use(async ({ ctx, meta, type, getRawInput, next }) => {
  assertServed(ctx, type);
  const raw = await rawInput(getRawInput);
  return settled(await next(), raw, meta?.operation.events);
});

const scopedProcedure = t.procedure.use(async ({ ctx, meta, path, type, getRawInput, signal, next }) => {
  assertServed(ctx, type);
  const { scope, leave } = await entered(ctx, meta?.operation);
  // A socket outlives its subscriptions.
  if (ctx.socket !== undefined) signal?.addEventListener("abort", leave, { once: true });
  try {
    const raw = await rawInput(getRawInput);
    const scoped: { scope: Scope; control: Control } = { scope, control: ctx.controlFor(scope) };
    const run = (getInput = getRawInput) => {
      // tRPC accepts both at once; its types name one or the other.
      const changes = { ctx: scoped, getRawInput: getInput };
      return next<typeof scoped>(changes);
    };
    const result = settled(await bounded(run, { ctx, path, type, scope, raw }), raw, meta?.operation.events);
    return ctx.socket === undefined ? result : untilEnd(result, leave);
  } catch (cause) {
    if (ctx.socket !== undefined) leave();
    throw cause;
  }
});

/** Reads no more than an answer may contain, and the lists of a batch in parts. */
async function bounded<R extends { readonly ok: boolean }>(
  run: (getInput?: () => Promise<unknown>) => Promise<R>,
  { ctx, path, type, scope, raw }: BoundedCall,
): Promise<R> {
  const { lists, isDivisible } = ctx;
  const { teamId } = scope;
  const limitReads = type === "query" ? ctx.limitReads : undefined;
  if (lists === undefined) return await readBounded({ teamId, limitReads, isDivisible }, () => run());
  try {
    return await lists.read(path, { input: raw, teamId, type }, (input, isDivisible) =>
      readBounded({ teamId, limitReads, isDivisible }, () => run(async () => input)),
    );
  } catch (refusal) {
    throw asTrpcError(refusal);
  }
}

interface BoundedCall {
  readonly ctx: RequestContext;
  readonly path: string;
  readonly type: ProcedureType;
  readonly scope: Scope;
  readonly raw: unknown;
}

/**
 * Limits, roles and sizes of lists are checked for each HTTP request; over a socket only subscriptions are supported.
 */
function assertServed(ctx: RequestContext, type: ProcedureType): void {
  if (ctx.socket === undefined || type === "subscription") return;
  const message = "Only subscriptions run over a WebSocket. Use HTTP for other operations.";
  throw asTrpcError(new DomainError("request.method_not_allowed", message));
}

const uploadProcedure = scopedProcedure.use(({ ctx, meta, next }) => {
  const { upload } = ctx.rest ?? {};
  if (upload) return next({ ctx: { upload } });
  const { method, path } = meta?.operation ?? {};
  throw asTrpcError(
    new DomainError("request.unsupported_media_type", `Files are uploaded by REST: ${method} /api/v1${path}.`),
  );
});

const downloadProcedure = scopedProcedure.use(({ ctx, meta, next }) => {
  if (ctx.rest) return next();
  const { method, path } = meta?.operation ?? {};
  throw asTrpcError(
    new DomainError("request.unsupported_media_type", `Files are downloaded by REST: ${method} /api/v1${path}.`),
  );
});

function procedureFor({ upload, download }: OperationOptions) {
  if (upload) return uploadProcedure;
  return download ? downloadProcedure : scopedProcedure;
}

async function entered(
  ctx: RequestContext,
  options: OperationOptions | undefined,
): Promise<{ readonly scope: Scope; readonly leave: () => void }> {
  try {
    const identity = ctx.socket && (await ctx.socket.identify());
    const caller = ctx.socket ? { scope: identity?.scope, isApiEnabled: identity?.isApiEnabled ?? true } : ctx;
    const scope = admitted(caller, options);
    const kind = options?.events ? "stream" : options?.upload ? "upload" : options?.download ? "download" : undefined;
    return { scope, leave: kind === undefined ? () => undefined : ctx.enter(kind, scope) };
  } catch (refusal) {
    throw asTrpcError(refusal);
  }
}

/**
 * Whether a caller may ask for an operation at all, by its headers alone.
 * @throws DomainError `auth.unauthenticated`, `auth.api_disabled`, `auth.second_factor_missing`, `auth.missing_ability`,
 *   `auth.root_team_only`
 */
export const admitted = (
  caller: Pick<RequestContext, "scope" | "isApiEnabled">,
  options: OperationOptions | undefined,
): Scope =>
  // A procedure without options is none of ours: nobody but root gets in.
  admittedWith(caller, options?.ability ?? "root", options);

/** The same, for what is not an operation. */
export function admittedWith(
  { scope, isApiEnabled }: Pick<RequestContext, "scope" | "isApiEnabled">,
  ability: Ability,
  options?: Pick<OperationOptions, "evenWhenDisabled" | "rootTeamOnly" | "withoutSecondFactor">,
): Scope {
  if (!scope) throw new DomainError("auth.unauthenticated", "Unauthenticated.");
  if (!isApiEnabled && !options?.evenWhenDisabled)
    throw new DomainError("auth.api_disabled", "API is disabled.", { details: { success: false } });
  if (!options?.withoutSecondFactor) requireSecondFactorIn(scope);
  requireAbility(scope, ability);
  if (options?.rootTeamOnly) requireRootTeam(scope, options.rootTeamOnly);
  return scope;
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

/** Calls `leave` when a subscription has ended or was refused. */
function untilEnd<R extends { readonly ok: boolean }>(result: R, leave: () => void): R {
  if (!("data" in result)) {
    leave();
    return result;
  }
  // The result of a subscription was checked to be an iterable.
  return { ...result, data: endedBy(result.data as AsyncIterable<unknown>, leave) };
}

async function* endedBy(events: AsyncIterable<unknown>, leave: () => void) {
  try {
    yield* events;
  } finally {
    leave();
  }
}

/** Converts errors to tRPC's, and validates events. */
function settled<R extends { readonly ok: boolean }>(result: R, input: unknown, events: ZodType | undefined): R {
  if ("error" in result) throw asTrpcError(result.error, input);
  if (!events || !("data" in result)) return result;
  return { ...result, data: checkedEvents(result.data, events) };
}
