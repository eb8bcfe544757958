import type { Control, SignIns } from "@berth/control";
import type { LimitReads, Paging } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import { initTRPC, type TRPCProcedureType as ProcedureType } from "@trpc/server";
import type { Identity } from "./auth.ts";
import type { BrowserExchange } from "./browser.ts";
import { problemOf } from "./errors.ts";
import type { OpenCall } from "./open-calls.ts";
import type { OperationOptions } from "./operation-options.ts";
import { shortenCalls } from "./short-call.ts";

export type { Control } from "@berth/control";

/** Context of a request, made before its operation runs. */
export interface RequestContext {
  /** Part of every answer's `X-Request-Id`, of error bodies and of the log. */
  readonly requestId: string;
  /** Scope of the caller; `undefined` without a valid token. */
  readonly scope: Scope | undefined;
  readonly isApiEnabled: boolean;
  readonly controlFor: (scope: Scope) => Control;
  /** `undefined` on a WebSocket, which has subscriptions only. */
  readonly limitReads: LimitReads | undefined;
  readonly signIns: SignIns;
  /** `undefined` on a WebSocket, which cannot set cookies. */
  readonly browser: BrowserExchange | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Counts this request as an open call until its connection is done, or until the returned function is called.
   * @throws DomainError `rate.limited`
   */
  readonly enter: (kind: OpenCall, scope: Scope) => () => void;
  /** Set on a WebSocket, whose context is created once for all of its calls. */
  readonly socket?: SocketCaller | undefined;
  /** Of a list that is read in parts: whether this one can be read in smaller ones. `undefined` for everything else. */
  readonly isDivisible?: boolean | undefined;
  /** Present when the request came by tRPC. */
  readonly lists?: BoundedLists | undefined;
  /** Set for requests of REST. */
  readonly rest?: RestExchange | undefined;
}

/** The caller of a WebSocket, looked up again for each call: its token may have been revoked. */
export interface SocketCaller {
  identify(): Promise<Identity | undefined>;
}

/** Reads the lists of one request whose answer is sent as a whole. */
export interface BoundedLists {
  /**
   * Reads the list operation `name` in parts; for other operations calls `read` once. All of the result is counted.
   * @throws DomainError `answer.too_large`, `request.overloaded`
   */
  read<R extends { readonly ok: boolean }>(
    name: string,
    asked: { readonly input: unknown; readonly teamId: number; readonly type: ProcedureType },
    read: (input: unknown, isDivisible: boolean | undefined) => Promise<R>,
  ): Promise<R>;
}

export interface RestExchange {
  /** Path and query as requested, e.g. `/api/v1/applications?take=10`. */
  readonly url: string;
  setHeader(name: string, value: string): void;
  /** The page that the client requested, if the operation is called for a part of it. */
  readonly asked?: Paging | undefined;
  /** The body of an upload while it arrives. Its size is not limited: the reader must stop. */
  readonly upload?: AsyncIterable<Uint8Array> | undefined;
}

export interface Meta {
  readonly operation: OperationOptions;
}

export const t = initTRPC
  .context<RequestContext>()
  .meta<Meta>()
  .create({
    isDev: false,
    sse: {
      ping: { enabled: true, intervalMs: 15_000 },
      // Three missed pings: the connection is dead, although it was not closed.
      client: { reconnectAfterInactivityMs: 45_000 },
    },
    errorFormatter({ shape, error, ctx }) {
      const { status, body } = problemOf(error, ctx?.requestId ?? "");
      // Created anew, since `shape.data` may contain a stack trace.
      const { code, path } = shape.data;
      return { code: shape.code, message: body.message, data: { code, httpStatus: status, path, problem: body } };
    },
  });

export const router: typeof t.router = (operations) => shortenCalls(t.router(operations));
