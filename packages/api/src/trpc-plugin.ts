import type { Scope } from "@berth/core/team";
import type { AnyRouter } from "@trpc/server";
import { type CreateFastifyContextOptions, fastifyTRPCPlugin } from "@trpc/server/adapters/fastify";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Identity } from "./auth.ts";
import { asTrpcError, problemOf } from "./errors.ts";
import { holdBodies } from "./held-body.ts";
import type { HeldBytes } from "./held-bytes.ts";
import { assertFewValues } from "./rest/input.ts";
import type { RestOptions } from "./rest/plugin.ts";
import { asRequestError, isTooLarge } from "./rest/request-error.ts";
import { operationsOf } from "./rest/routes.ts";
import { discardRest } from "./rest/upload.ts";
import type { Control, RequestContext } from "./trpc.ts";
import { trpcSocket } from "./trpc-socket.ts";
import { whenClosed } from "./when-closed.ts";
import { type ListBounds, listBounds } from "./whole-list.ts";
import { withholdBodies } from "./withheld-body.ts";

export interface TrpcOptions
  extends Pick<RestOptions, "admission" | "controlFor" | "limitReads" | "signIns" | "browsers" | "onFault"> {
  readonly router: AnyRouter;
}

/** Limit of calls in one request. */
export const BATCH_MAX = 50;

/**
 * The same operations for tRPC's client, with the same admission. Registered under a prefix, after
 * `@fastify/websocket`.
 */
export function trpcPlugin(app: FastifyInstance, options: TrpcOptions, done: () => void): void {
  const { router, onFault } = options;
  const bounds = listBounds(router);
  const callers = new WeakMap<FastifyRequest, TrpcCaller>();
  app.addHook("onRequest", async (request, reply) => {
    const found = await identification(request, reply, options);
    const scope = "identity" in found ? found.identity?.scope : undefined;
    const bytes = options.admission.bytesOf(scope, request.ip);
    whenClosed(reply.raw, () => bytes.close());
    callers.set(request, { found, bytes });
  });
  holdBodies(app, (request) => callers.get(request)?.bytes);
  // Bodies of unidentified callers are not read; whether a token may call an operation is checked by the operation.
  const isPublic = publicCalls(router);
  withholdBodies(app, (request) => !isIdentified(callers.get(request)?.found) && !isPublic(pathOf(request)));
  // For errors before tRPC reads the request.
  app.setErrorHandler(async (error, request, reply) => {
    if (isTooLarge(error)) await discardRest(request.raw);
    return refuse(asRequestError(error), request, reply);
  });
  trpcSocket(app, router, options);
  app.removeAllContentTypeParsers();
  // The adapter gets the body as text and parses it in its handler, so it is checked here.
  app.addHook("preHandler", async (request, reply) => {
    try {
      if (typeof request.body === "string") assertFewValues(request.body);
    } catch (refusal) {
      return refuse(refusal, request, reply);
    }
  });
  app.register(fastifyTRPCPlugin, {
    trpcOptions: {
      router,
      maxBatchSize: BATCH_MAX,
      createContext: async (request: CreateFastifyContextOptions) =>
        contextOf(request, options, { bounds, caller: callers.get(request.req) }),
      responseMeta({ errors, ctx }: { errors: readonly unknown[]; ctx?: RequestContext | undefined }) {
        const { headers } = errors.length > 0 ? problemOf(errors[0], ctx?.requestId ?? "") : { headers: {} };
        return { headers: { ...headers } };
      },
      onError({ error, path, req }: { error: unknown; path: string | undefined; req: { id: string } }) {
        if (problemOf(error, req.id).status >= 500) onFault(error, { id: req.id, operation: path });
      },
    },
  });
  done();
}

/** Answers as tRPC does for an error of a call: its client reads no other form. */
function refuse(refusal: unknown, { id, params }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, headers, body } = problemOf(refusal, id);
  const { code } = asTrpcError(refusal);
  const { path } = params as { readonly path?: string };
  const data = { code, httpStatus: status, path, problem: body };
  const answer = { error: { code: TRPC_ERROR_CODES_BY_KEY[code], message: body.message, data } };
  return reply.code(status).headers(headers).type("application/json; charset=utf-8").send(JSON.stringify(answer));
}

/** Whether all calls of a path are of public operations. */
function publicCalls(router: AnyRouter): (path: string) => boolean {
  const names = new Set(operationsOf(router).flatMap(({ name, options }) => (options.ability === null ? [name] : [])));
  return (path) => path.split(",").every((name) => names.has(name));
}

/** Parsed as tRPC does. */
const pathOf = ({ params }: FastifyRequest): string => (params as { path?: string }).path ?? "";

const isIdentified = (found: Identification | undefined) =>
  found !== undefined && "identity" in found && found.identity !== undefined;

/** The caller's identity, or why the request is refused. */
type Identification = { readonly identity: Identity | undefined } | { readonly refusal: unknown };

interface TrpcCaller {
  readonly found: Identification;
  readonly bytes: HeldBytes;
}

/** Runs before the body is read, so that refused callers need not send it. */
async function identification(
  request: FastifyRequest,
  reply: FastifyReply,
  { admission, browsers }: TrpcOptions,
): Promise<Identification> {
  const path = pathOf(request);
  const isBatch = (request.query as { batch?: string }).batch === "1";
  try {
    const identity = await admission.identify({
      authorization: request.headers.authorization,
      session: browsers.session(request),
      ip: request.ip,
      calls: isBatch ? batchCalls(path) : 1,
      setHeader: (name, value) => void reply.header(name, value),
    });
    return { identity };
  } catch (refusal) {
    return { refusal };
  }
}

/** A batch above the limit is refused, so it counts as one call. */
function batchCalls(path: string): number {
  const calls = path.split(",").length;
  return calls > BATCH_MAX ? 1 : calls;
}

/** The calls of a batch have one scope, and share its use cases. */
function oncePerScope(controlFor: TrpcOptions["controlFor"]): TrpcOptions["controlFor"] {
  let last: { readonly scope: Scope; readonly control: Control } | undefined;
  return (scope) => {
    if (last?.scope !== scope) last = { scope, control: controlFor(scope) };
    return last.control;
  };
}

function contextOf(
  { req, res }: CreateFastifyContextOptions,
  { controlFor, limitReads, signIns, browsers, admission }: TrpcOptions,
  { bounds, caller }: { readonly bounds: ListBounds; readonly caller: TrpcCaller | undefined },
): RequestContext {
  const found = caller?.found;
  if (found !== undefined && "refusal" in found) throw asTrpcError(found.refusal);
  const identity = found?.identity;
  const gone = new AbortController();
  whenClosed(res.raw, () => {
    if (!res.raw.writableFinished) gone.abort();
  });
  return {
    requestId: req.id,
    scope: identity?.scope,
    isApiEnabled: identity?.isApiEnabled ?? true,
    controlFor: oncePerScope(controlFor),
    limitReads,
    signIns,
    browser: browsers.exchange(req, res),
    signal: gone.signal,
    enter: (kind, scope) => {
      const leave = admission.enter(kind, scope);
      whenClosed(res.raw, leave);
      return leave;
    },
    lists: caller && bounds.open(caller.bytes),
  };
}
