import type { SignIns } from "@berth/control";
import { DomainError, notFound } from "@berth/core";
import type { Authenticator, LimitReads } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import fastifyWebsocket from "@fastify/websocket";
import { tracked } from "@trpc/server";
import Fastify, { type FastifyInstance } from "fastify";
import { z } from "zod";
import { admission } from "./admission.ts";
import { hashOfSecret } from "./auth.ts";
import { browsers } from "./browser.ts";
import { BYTE_SHARES, type ByteShares } from "./held-bytes.ts";
import { listed, paging, pagingOf } from "./list.ts";
import { OPEN_CALLS } from "./open-calls.ts";
import { operation } from "./operation.ts";
import { onResource, perKind } from "./per-kind.ts";
import { restPlugin } from "./rest/plugin.ts";
import { serverOptions } from "./rest/server-options.ts";
import { resumable } from "./stream.ts";
import { type Control, router } from "./trpc.ts";
import { trpcPlugin } from "./trpc-plugin.ts";
import { SOCKET_OPTIONS } from "./trpc-socket.ts";

/** A small separate API with an operation of every kind; not Berth's own. */
const Note = z
  .object({ uuid: z.string(), title: z.string(), pinned: z.boolean(), size: z.int() })
  .meta({ id: "Note", description: "A note." });
const Line = z.object({ n: z.int().min(0).max(1_000_000), text: z.string() }).meta({ id: "Line" });

export interface Example {
  readonly app: FastifyInstance;
  /** Inputs of the operations, newest last. */
  readonly inputs: unknown[];
  readonly faults: { readonly error: unknown; readonly id: string; readonly operation: string | undefined }[];
  readonly scopes: Scope[];
  readonly lines: string[];
  /** Number of opened and ended streams. */
  readonly streams: { opened: number; ended: number };
  readonly look: { count: number };
}

export interface ExampleOptions {
  readonly requestsPerMinute?: number;
  readonly now?: () => Date;
  readonly isApiEnabled?: boolean;
  readonly openCallLimits?: typeof OPEN_CALLS;
  readonly byteShares?: ByteShares;
  /** How long looking up a token takes. */
  readonly whileLookedUp?: () => Promise<void>;
}

/** Tokens: `1|all`, `2|reader`, `3|old` (expired). */
export function example({
  requestsPerMinute = 0,
  now = () => new Date(),
  isApiEnabled = true,
  openCallLimits = OPEN_CALLS,
  byteShares = BYTE_SHARES,
  whileLookedUp = async () => undefined,
}: ExampleOptions = {}) {
  const state = {
    inputs: [] as unknown[],
    faults: [] as Example["faults"],
    scopes: [] as Scope[],
    lines: [] as string[],
    streams: { opened: 0, ended: 0 },
    look: { count: 0 },
  };
  const appRouter = exampleRouter(state);
  const app = Fastify({ ...serverOptions, forceCloseConnections: true });
  const shared = {
    router: appRouter,
    admission: admission({
      authenticator: tokens({ look: state.look, isApiEnabled, whileLookedUp }),
      requestsPerMinute,
      openCallLimits,
      byteShares,
      now,
    }),
    browsers: browsers(null),
    signIns: {} as SignIns,
    // The example has no use cases; its operations only check that the scope is right.
    controlFor: (scope: Scope) => ({ scope }) as unknown as Control,
    limitReads: unlimited,
    onFault: (error: unknown, request: { id: string; operation: string | undefined }) =>
      void state.faults.push({ error, ...request }),
  };
  app.addHook("onRequest", async (request, reply) => void reply.header("x-request-id", request.id));
  app.register(fastifyWebsocket, SOCKET_OPTIONS);
  app.register(restPlugin, { prefix: "/api/v1", ...shared, bodyLimit: 1_048_576, pingSeconds: 0.2, docsUrl: "/docs" });
  app.register(trpcPlugin, { prefix: "/trpc", ...shared });
  return { app, router: appRouter, ...state };
}

const unlimited: LimitReads = (_bytes, work) => work();

export type ExampleRouter = ReturnType<typeof exampleRouter>;

function exampleRouter({ inputs, scopes, lines, streams }: Omit<Example, "app">) {
  const note = (uuid: string) => ({ uuid, title: "a note", pinned: false, size: 3 });
  const seen = <T>(input: T): T => {
    inputs.push(input);
    return input;
  };
  return router({
    health: operation({
      ...{ method: "GET", path: "/health", operationId: "health", tag: "System", summary: "Whether it is up" },
      ...{ ability: null, contentType: "text/plain", isUncounted: true },
    } as const)
      .output(z.string())
      .query(() => "OK"),
    notes: {
      list: operation({
        ...{
          method: "GET",
          path: "/notes",
          operationId: "list-notes",
          tag: "System",
          summary: "List",
          ability: "read",
        },
      } as const)
        .input(
          z.strictObject({
            ...paging,
            pinned: z.boolean().optional(),
            tag: z.array(z.string()).optional(),
            title: z.string().max(20).optional(),
          }),
        )
        .output(z.array(Note))
        .query(({ ctx, input }) => {
          scopes.push(ctx.scope);
          const { skip = 0, take = 25 } = seen(input);
          const items = Array.from({ length: 25 }, (_, i) => note(`n${i}`)).slice(skip, skip + take);
          return [...listed(ctx, { items, total: 25 }, input)];
        }),
      latest: operation({
        ...{ method: "GET", path: "/notes/latest", operationId: "latest-notes", tag: "System", summary: "Latest" },
        ability: "read",
      } as const)
        .input(z.strictObject(pagingOf(10)))
        .output(z.object({ count: z.int().min(0).max(100), notes: z.array(Note) }))
        .query(({ ctx, input }) => ({
          count: 25,
          notes: [...listed(ctx, { items: [note(String(input.take))], total: 25 }, seen(input))],
        })),
      get: operation({
        ...{ method: "GET", path: "/notes/{uuid}", operationId: "get-note", tag: "System", summary: "Get" },
        ability: "read",
      } as const)
        .input(z.strictObject({ uuid: z.string() }))
        .output(Note)
        .query(({ input: { uuid } }) => {
          if (uuid === "missing") throw notFound("Note");
          if (uuid === "broken") throw new TypeError("select * from secret_table");
          if (uuid === "wrong") return { ...note(uuid), size: "3" as unknown as number };
          return note(uuid);
        }),
      create: operation({
        ...{ method: "POST", path: "/notes", operationId: "create-note", tag: "System", summary: "Create" },
        ...{ ability: "write", status: 201, errors: ["domain.conflict", "queue.full"], query: ["force"] },
        aliases: ["/notes/new"],
      } as const)
        .input(
          z
            .strictObject({
              title: z.string().min(1).max(20),
              size: z.int().min(1).max(100).optional(),
              kind: z.enum(["plain", "rich"]).default("plain"),
              labels: z.record(z.string(), z.string()).optional(),
              force: z.boolean().optional(),
              parts: z.array(z.strictObject({ name: z.string() })).optional(),
            })
            .refine(({ title }) => title !== "refused", { path: ["title"], error: "Is taken." }),
        )
        .output(Note)
        .mutation(({ input }) => {
          if (seen(input).title === "conflict")
            throw new DomainError("domain.conflict", "Taken.", { details: { conflicts: [{ domain: "a" }] } });
          if (input.title === "gone") throw new DomainError("source.not_found", "There is no such branch.");
          if (input.title === "full") throw new DomainError("queue.full", "Full.", { retryAfterSeconds: 60 });
          return { ...note("new"), title: input.title };
        }),
      update: operation({
        ...{ method: "PATCH", path: "/notes/{uuid}", operationId: "update-note", tag: "System", summary: "Update" },
        ...{ ability: "write", aliases: ["/notes"] },
      } as const)
        .input(z.strictObject({ uuid: z.string(), title: z.string().optional(), pinned: z.boolean().optional() }))
        .output(Note)
        .mutation(({ input }) => ({ ...note(seen(input).uuid), pinned: input.pinned ?? false })),
      delete: operation({
        ...{ method: "DELETE", path: "/notes/{uuid}", operationId: "delete-note", tag: "System", summary: "Delete" },
        ...{ ability: "write", status: 204 },
      } as const)
        .input(z.strictObject({ uuid: z.string(), keep_files: z.boolean().default(true) }))
        .output(z.undefined())
        .mutation(({ input }) => void seen(input)),
      send: operation({
        ...{ method: "POST", path: "/notes/{uuid}/send", operationId: "send-note", tag: "System", summary: "Send" },
        ...{ ability: "deploy", alsoByGet: true, query: ["times"] },
      } as const)
        .input(z.strictObject({ uuid: z.string(), times: z.int().min(1).max(9).default(1) }))
        .output(z.object({ message: z.string() }))
        .mutation(({ input }) => ({ message: `sent ${seen(input).times}` })),
      comment: operation({
        ...{ method: "PATCH", path: "/notes/{uuid}/comments", operationId: "update-comment", tag: "System" },
        ...{ summary: "Update", ability: "write", pathKeys: { uuid: "note_uuid" } },
      } as const)
        .input(z.strictObject({ note_uuid: z.string(), uuid: z.string(), text: z.string().optional() }))
        .output(z.object({ owner: z.string(), uuid: z.string() }))
        .mutation(({ input }) => ({ owner: seen(input).note_uuid, uuid: input.uuid })),
      attach: operation({
        ...{ method: "POST", path: "/notes/{uuid}/file", operationId: "attach-file", tag: "System", summary: "Attach" },
        ability: "write",
        upload: { contentTypes: ["application/gzip", "application/octet-stream"], description: "The file." },
      } as const)
        .input(z.strictObject({ uuid: z.string(), name: z.string().optional() }))
        .output(z.object({ bytes: z.int().min(0).max(1e9) }))
        .mutation(async ({ ctx, input }) => {
          if (seen(input).uuid === "missing") throw notFound("Note");
          let bytes = 0;
          for await (const chunk of ctx.upload) {
            bytes += chunk.length;
            if (bytes > 2_000_000) throw new DomainError("request.too_large", "The file is larger than 2 MB.");
          }
          return { bytes };
        }),
      file: operation({
        ...{ method: "GET", path: "/notes/{uuid}/file", operationId: "get-file", tag: "System", summary: "Download" },
        ability: "read",
        download: { contentTypes: ["application/octet-stream"], description: "The file." },
      } as const)
        .input(z.strictObject({ uuid: z.string() }))
        .query(({ input }) => {
          if (seen(input).uuid === "missing") throw notFound("Note");
          return {
            filename: "note.bin",
            sizeBytes: FILE_CHUNKS * CHUNK.length,
            sha256: null,
            content: file(input, seen),
            close: async () => void seen({ isClosed: true }),
          };
        }),
      follow: operation({
        ...{ method: "GET", path: "/notes/{uuid}/lines", operationId: "follow-note", tag: "System", summary: "Follow" },
        ...{ ability: "read", events: Line },
      } as const)
        .input(z.strictObject({ uuid: z.string(), until: z.int().min(0).max(1e6).optional(), ...resumable }))
        .subscription(async ({ input, signal }) => {
          if (input.uuid === "missing") throw notFound("Note");
          return follow(lines, streams, Number(input.lastEventId ?? 0), input, signal);
        }),
    },
    settings: operation({
      ...{ method: "POST", path: "/enable", operationId: "enable", tag: "System", summary: "Enable", ability: "write" },
      ...{ evenWhenDisabled: true, alsoByGet: true },
    } as const)
      .output(z.object({ message: z.string() }))
      .mutation(() => ({ message: "API enabled." })),
    tags: perKind(["application", "database"], (kind) => ({
      add: onResource(kind, {
        ...{ method: "POST", path: "/tags", operationId: "add-tag-by-{kind}-uuid", summary: "Add", ability: "write" },
        input: z.strictObject({ name: z.string() }),
      })
        .output(z.object({ name: z.string(), kind: z.string(), uuid: z.string() }))
        .mutation(({ input }) => ({ kind, uuid: seen(input).uuid, name: input.name })),
      list: onResource(kind, {
        ...{ method: "GET", path: "/tags", operationId: "list-tags-by-{kind}-uuid", summary: "List", ability: "read" },
      })
        .output(z.array(z.string()))
        .query(({ input }) => [kind, input.uuid]),
    })),
  });
}

async function* follow(
  lines: readonly string[],
  streams: Example["streams"],
  after: number,
  { uuid, until }: { uuid: string; until?: number | undefined },
  signal: AbortSignal | undefined,
) {
  streams.opened++;
  try {
    for (let n = after; uuid === "deaf" || !signal?.aborted; ) {
      if (until !== undefined && n >= until) return;
      if (uuid === "breaks" && n === 2) throw new DomainError("engine.failed", "The source went away.");
      if (uuid === "wrong") yield tracked("1", { n: "one" as unknown as number, text: "" });
      const text = lines[n];
      if (text === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      else yield tracked(String(++n), { n, text });
    }
  } finally {
    streams.ended++;
  }
}

const KIND = { kind: "api", confirmed_at: null, lacks_second_factor: false } as const;

function tokens({
  look,
  isApiEnabled,
  whileLookedUp,
}: Pick<Example, "look"> & Required<Pick<ExampleOptions, "isApiEnabled" | "whileLookedUp">>): Authenticator {
  const rows = [
    { id: 1, secret: "all", abilities: ["read", "write", "deploy"] as const, expires_at: null },
    { id: 2, secret: "reader", abilities: ["read"] as const, expires_at: null },
    { id: 3, secret: "old", abilities: ["read"] as const, expires_at: new Date(0) },
    { id: 4, secret: "root", abilities: ["root"] as const, expires_at: null },
  ];
  return {
    async findToken(hash) {
      look.count++;
      await whileLookedUp();
      const row = rows.find(({ secret }) => hashOfSecret(secret) === hash);
      const owner = { user_id: 0, role: "owner" as const };
      const dates = { last_used_at: null, created_at: new Date(0) };
      return row && { ...row, ...KIND, ...dates, ...owner, team_id: 7, name: row.secret, is_api_enabled: isApiEnabled };
    },
    touchToken() {},
  };
}

export interface Ask {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly text?: string | Buffer;
}

/** Calls REST, by default with the token that has the most abilities. */
export async function ask(
  { app }: Pick<Example, "app">,
  method: string,
  path: string,
  { token = "1|all", headers, body, text }: Ask = {},
) {
  const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await app.inject({
    // Inject's type has only the common methods; Node supports more.
    method: method as "GET",
    url: `/api/v1${path}`,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(payload === undefined ? {} : { payload }),
  });
  const isJson = /json/.test(String(response.headers["content-type"])) && response.body !== "";
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json: isJson ? response.json() : undefined,
  };
}

const CHUNK = new Uint8Array(64 * 1024);
const FILE_CHUNKS = 1000;

/** Its end, and how much of it was read, are seen as inputs are. */
async function* file({ uuid }: { readonly uuid: string }, seen: (input: object) => unknown) {
  let chunks = 0;
  try {
    for (; chunks < FILE_CHUNKS; chunks += 1) {
      if (uuid === "damaged" && chunks === FILE_CHUNKS - 1) throw new DomainError("resource.state", "It is damaged.");
      yield CHUNK;
    }
  } finally {
    seen({ closedAfter: chunks });
  }
}
