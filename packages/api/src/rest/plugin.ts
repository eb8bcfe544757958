import { Readable } from "node:stream";
import type { Download, SignIns } from "@berth/control";
import { DomainError } from "@berth/core";
import type { LimitReads, Paging } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import type { AnyRouter } from "@trpc/server";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Admission } from "../admission.ts";
import type { Identity } from "../auth.ts";
import type { Browsers } from "../browser.ts";
import { problemOf } from "../errors.ts";
import { holdBodies } from "../held-body.ts";
import type { HeldBytes } from "../held-bytes.ts";
import { admitted } from "../operation.ts";
import type { Control, RequestContext, RestExchange } from "../trpc.ts";
import { whenClosed } from "../when-closed.ts";
import { withholdBodies } from "../withheld-body.ts";
import { methodsOf } from "./allowed.ts";
import { eventStream } from "./event-stream.ts";
import { inputOf } from "./input.ts";
import { type ItemSizes, itemSizes, LONG_LIST_BYTES, longList, type ReadPart } from "./long-list.ts";
import { asRequestError, isTooLarge } from "./request-error.ts";
import { askedPage, isPagedList, operationsOf, type Route, routesOf } from "./routes.ts";
import { discardRest, uploadOf } from "./upload.ts";

export interface RestOptions {
  readonly router: AnyRouter;
  readonly controlFor: (scope: Scope) => Control;
  readonly limitReads: LimitReads;
  readonly admission: Admission;
  readonly signIns: SignIns;
  readonly browsers: Browsers;
  /** Called once for every error of the server (5xx), with its cause. */
  readonly onFault: (error: unknown, request: { readonly id: string; readonly operation: string | undefined }) => void;
  /** Limit of a JSON body, in bytes. */
  readonly bodyLimit: number;
  readonly pingSeconds: number;
  /** Documentation to name in the error for an unknown path. */
  readonly docsUrl: string;
}

declare module "fastify" {
  interface FastifyContextConfig {
    route?: Route;
  }
  interface FastifyRequest {
    identity: Identity | undefined;
    /** Released when its connection is done. */
    bytes: HeldBytes | undefined;
  }
}

/** One Fastify route for every operation. Registered under a prefix. */
export function restPlugin(app: FastifyInstance, options: RestOptions, done: () => void): void {
  const { router, bodyLimit } = options;
  const routes = operationsOf(router).flatMap(routesOf);

  app.decorateRequest("identity", undefined);
  app.decorateRequest("bytes", undefined);
  app.addHook("onRequest", async (request, reply) => {
    request.identity = await identified(request, reply, options);
    const bytes = options.admission.bytesOf(request.identity?.scope, request.ip);
    whenClosed(reply.raw, () => bytes.close());
    request.bytes = bytes;
  });
  holdBodies(app, ({ bytes, routeOptions }) => (routeOptions.config.route?.body === "upload" ? undefined : bytes));
  withholdBodies(app, isRefused);
  app.setErrorHandler(async (error, request, reply) => {
    if (isTooLarge(error)) await discardRest(request.raw);
    return fail(error, request, reply, options);
  });

  app.removeAllContentTypeParsers();
  // Read as bytes: the operation decides how to parse them, after the caller is identified.
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit }, (_request, body, parsed) => parsed(null, body));
  app.register((uploads, _options, ready) => {
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser("*", (_request, body, parsed) => parsed(null, body));
    for (const route of routes) if (route.body === "upload") serve(uploads, route, options);
    ready();
  });
  for (const route of routes) if (route.body !== "upload") serve(app, route, options);

  const notServed = (): never => {
    throw new DomainError("request.not_found", "Not found.", { details: { docs: options.docsUrl } });
  };
  for (const path of NOT_SERVED) app.get(path, notServed);
  const methods = methodsOf(routes);
  app.setNotFoundHandler((request, reply) => {
    const [path = ""] = request.url.slice(app.prefix.length).split("?", 1);
    const allowed = methods(path);
    // Clients of this API family expect the same answer for a method that a path lacks as for a path that is missing.
    if (allowed.length > 0) reply.header("allow", allowed.join(", "));
    notServed();
  });
  done();
}

/** Operations of the API family that Berth lacks, where another path of Berth would take the last part for a name. */
const NOT_SERVED = ["/projects/:uuid/envs"] as const;

async function identified(
  request: FastifyRequest,
  reply: FastifyReply,
  { admission, browsers }: RestOptions,
): Promise<Identity | undefined> {
  const { routeOptions, headers, ip } = request;
  const options = routeOptions.config.route?.operation.options;
  if (options?.isUncounted) return undefined;
  const caller = {
    authorization: headers.authorization,
    session: browsers.session(request),
    ip,
    calls: 1,
    setHeader: (name: string, value: string) => void reply.header(name, value),
  };
  // Unknown paths and public operations do not need a lookup of the token.
  if (!options || options.ability === null) return void admission.count(caller);
  return admission.identify(caller);
}

/** Whether a request is for an unknown path or not allowed for its caller. */
function isRefused({ routeOptions, identity }: FastifyRequest): boolean {
  const options = routeOptions.config.route?.operation.options;
  if (options === undefined) return true;
  if (options.ability === null) return false;
  try {
    admitted({ scope: identity?.scope, isApiEnabled: identity?.isApiEnabled ?? true }, options);
    return false;
  } catch {
    return true; // the operation returns the reason
  }
}

function serve(app: FastifyInstance, route: Route, options: RestOptions): void {
  const { method, path, operation } = route;
  const { name, procedure } = operation;
  const { type } = procedure._def;
  const sizes = itemSizes();

  app.route({
    method: method === "GET" ? ["GET", "HEAD"] : method,
    url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
    exposeHeadRoute: false,
    config: { route },
    async handler(request, reply) {
      const ctx = contextOf(request, reply, route, options);
      const { signal } = ctx;
      const getRawInput = async () => inputOf(route, request);
      try {
        const list = pagedList(route, request);
        if (list !== undefined) return await sendList(list, { ctx, request, reply, route, options, sizes });
        const answer = await procedure({ path: name, type, ctx, getRawInput, signal, batchIndex: 0 });
        return send(answer, request, reply, route, options);
      } finally {
        // Unauthorised uploads are not read.
        if (route.body === "upload" && !isRefused(request)) await discardRest(request.raw);
      }
    },
  });
}

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route,
  { admission, controlFor, limitReads, signIns, browsers }: RestOptions,
): RequestContext {
  const gone = new AbortController();
  whenClosed(reply.raw, () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  const rest: RestExchange = {
    url: request.url,
    setHeader: (header, value) => void reply.header(header, value),
    upload: route.body === "upload" ? uploadOf(request.raw) : undefined,
  };
  const { identity } = request;
  return {
    requestId: request.id,
    scope: identity?.scope,
    isApiEnabled: identity?.isApiEnabled ?? true,
    controlFor,
    limitReads,
    signIns,
    browser: browsers.exchange(request, reply),
    signal: gone.signal,
    enter: (kind, scope) => {
      const leave = admission.enter(kind, scope);
      whenClosed(reply.raw, leave);
      return leave;
    },
    rest,
  };
}

interface PagedList {
  readonly input: Readonly<Record<string, unknown>>;
  readonly asked: Paging;
}

/** `undefined` if the operation does not return a list that can be read in parts, or refuses the input. */
function pagedList(route: Route, request: FastifyRequest): PagedList | undefined {
  if (!isPagedList(route.operation)) return undefined;
  try {
    const input = inputOf(route, request) ?? {};
    const asked = askedPage(route.operation, input);
    return asked && { input, asked };
  } catch {
    return undefined; // the operation first checks whether the client may call it
  }
}

interface ListAnswer {
  readonly ctx: RequestContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly route: Route;
  readonly options: RestOptions;
  readonly sizes: ItemSizes;
}

async function sendList({ input, asked }: PagedList, answer: ListAnswer): Promise<FastifyReply> {
  const { ctx, request, reply, route, options, sizes } = answer;
  const { name, procedure } = route.operation;
  let rest: RestExchange | undefined = ctx.rest && { ...ctx.rest, asked };
  const read: ReadPart = async (page, isSmallest) => {
    const call = { path: name, type: procedure._def.type, signal: ctx.signal, batchIndex: 0 } as const;
    const getRawInput = async () => ({ ...input, ...page });
    const items = await procedure({ ...call, ctx: { ...ctx, rest, isDivisible: !isSmallest }, getRawInput });
    // The headers of the answer are those of its first part.
    rest = undefined;
    return items as readonly unknown[]; // as declared by its output
  };
  const teamId = request.identity?.scope.teamId;
  const known = { list: `${teamId}`, teamId, sizes };
  const list = await longList(read, asked, known, request.bytes);
  reply.code(200).type("application/json; charset=utf-8");
  if (typeof list === "string") {
    request.bytes?.hold(list.length);
    return reply.send(list);
  }
  if (request.method === "HEAD") {
    list.destroy();
    return reply.send();
  }
  list.on("error", (error) => report(error, request, options));
  hold(list, request);
  // A client that stops receiving would keep its part of the list in memory for ever.
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  return reply.send(list);
}

/** @throws DomainError `request.overloaded` */
function hold(list: Readable, { bytes }: FastifyRequest): void {
  try {
    bytes?.hold(LONG_LIST_BYTES);
  } catch (refusal) {
    list.destroy();
    throw refusal;
  }
}

const STALLED_MS = 60_000;

function send(
  answer: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { operation }: Route,
  options: RestOptions,
): FastifyReply {
  const { status = 200, contentType, events, download } = operation.options;
  reply.code(status);
  if (download) return sendFile(answer as Download, request, reply, options); // as its procedure returns
  if (events) return stream(answer, request, reply, options);
  if (status === 204) return reply.send();
  const text = contentType ? String(answer) : JSON.stringify(answer);
  // The result of a change must be returned, whatever its size.
  if (request.method === "GET") request.bytes?.hold(text.length);
  else request.bytes?.note(text.length);
  return reply.type(`${contentType ?? "application/json"}; charset=utf-8`).send(text);
}

/** Sends a file while it is read: no more of it is in memory than the connection takes. */
function sendFile(
  { filename, sizeBytes, sha256, content, close }: Download,
  request: FastifyRequest,
  reply: FastifyReply,
  options: RestOptions,
): FastifyReply {
  const isGzip = filename.endsWith(".gz");
  reply.headers({
    "content-type": isGzip ? "application/gzip" : "application/octet-stream",
    "content-disposition": `attachment; filename="${filename}"`,
    "cache-control": "no-store",
    ...(sizeBytes === null ? {} : { "content-length": sizeBytes }),
    ...(sha256 === null ? {} : { "repr-digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:` }),
  });
  const file = Readable.from(content, { objectMode: false });
  whenClosed(reply.raw, () => void close().catch((error) => report(error, request, options)));
  file.on("error", (error) => report(error, request, options));
  if (request.method === "HEAD") {
    file.destroy();
    return reply.send();
  }
  // A client that stops receiving would keep the file or the connection to the storage open for ever.
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  return reply.send(file);
}

function stream(answer: unknown, request: FastifyRequest, reply: FastifyReply, options: RestOptions): FastifyReply {
  reply.headers({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    // Tells nginx and similar proxies not to buffer the events.
    "x-accel-buffering": "no",
  });
  if (request.method === "HEAD") return reply.send();
  const problem = (error: unknown) => {
    report(error, request, options);
    return problemOf(error, request.id);
  };
  // The procedure checked that a subscription returns an iterable.
  const events = answer as AsyncIterable<unknown>;
  return reply.send(eventStream(events, { pingSeconds: options.pingSeconds, problem }));
}

function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply, options: RestOptions): FastifyReply {
  const error = asRequestError(thrown);
  const { status, headers, body } = problemOf(error, request.id);
  report(error, request, options);
  return reply.code(status).headers(headers).type("application/json; charset=utf-8").send(JSON.stringify(body));
}

function report(error: unknown, { id, routeOptions }: FastifyRequest, { onFault }: RestOptions): void {
  if (problemOf(error, id).status < 500) return;
  onFault(error, { id, operation: routeOptions.config.route?.operation.name });
}
