import type { Control, SignIns } from "@berth/control";
import type { LimitReads, Paging } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import { initTRPC, type TRPCProcedureType as ProcedureType } from "@trpc/server";
import type { Identity } from "./auth.ts";
import type { BrowserExchange } from "./browser.ts";
import { problemOf } from "./errors.ts";
import type { OpenCall } from "./open-calls.ts";
import type { OperationOptions } from "./operation-options.ts";

export type { Control } from "@berth/control";

/** Context of a request, made before its operation runs. */
export interface Context {
  /** In every answer's `X-Request-Id` and error body, and in the log. */
  readonly requestId: string;
  /** Scope of the caller; `undefined` without a valid token. */
  readonly scope: Scope | undefined;
  readonly isApiEnabled: boolean;
  readonly controlFor: (scope: Scope) => Control;
  /** `undefined` on a WebSocket, which has subscriptions only. */
  readonly limitReads: LimitReads | undefined;
  readonly signIns: SignIns;
  /** `undefined` on a WebSocket, which has no headers to answer by. */
  readonly browser: BrowserExchange | undefined;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /**
   * Counts this request among the open calls until its connection is done with it, or until what it answers is called.
   * @throws DomainError `rate.limited`
   */
  readonly enter: (kind: OpenCall, scope: Scope) => () => void;
  /** Present on a WebSocket, whose context is made once for all of its calls. */
  readonly socket?: SocketCaller | undefined;
  /** Of a list that is read in parts: whether this one can be read in smaller ones. `undefined` for everything else. */
  readonly isDivisible?: boolean | undefined;
  /** Present when the request came by tRPC. */
  readonly lists?: BoundedLists | undefined;
  /** Present when the request came by REST. */
  readonly rest?: RestExchange | undefined;
}

/** Who opened a WebSocket, looked up for each call anew: a token may have been revoked since. */
export interface SocketCaller {
  identify(): Promise<Identity | undefined>;
}

/** The lists of one request whose answer is sent as a whole. */
export interface BoundedLists {
  /**
   * The list that `name` answers, read in parts; of every other operation what `read` answers. All of it is counted.
   * @throws DomainError `answer.too_large`, `request.overloaded`
   */
  read<R extends { readonly ok: boolean }>(
    name: string,
    asked: { readonly input: unknown; readonly teamId: number; readonly type: ProcedureType },
    read: (input: unknown, isDivisible: boolean | undefined) => Promise<R>,
  ): Promise<R>;
}

export interface RestExchange {
  /** Path and query as they were asked for, e.g. `/api/v1/applications?take=10`. */
  readonly url: string;
  setHeader(name: string, value: string): void;
  /** The page that the client asked for, where the operation is asked for a part of it. */
  readonly asked?: Paging | undefined;
  /** The body of an upload, as it arrives. Not limited in size: who reads it stops where it must. */
  readonly upload?: AsyncIterable<Uint8Array> | undefined;
}

export interface Meta {
  readonly operation: OperationOptions;
}

export const t = initTRPC
  .context<Context>()
  .meta<Meta>()
  .create({
    isDev: false,
    sse: {
      ping: { enabled: true, intervalMs: 15_000 },
      // Three pings missed: the connection is dead though no end of it was seen.
      client: { reconnectAfterInactivityMs: 45_000 },
    },
    errorFormatter({ shape, error, ctx }) {
      const { status, body } = problemOf(error, ctx?.requestId ?? "");
      // Built anew rather than from `shape.data`, which may hold a stack.
      const { code, path } = shape.data;
      return { code: shape.code, message: body.message, data: { code, httpStatus: status, path, problem: body } };
    },
  });

export const router = t.router;
