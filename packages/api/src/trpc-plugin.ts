import type { AnyRouter } from "@trpc/server";
import { type CreateFastifyContextOptions, fastifyTRPCPlugin } from "@trpc/server/adapters/fastify";
import type { FastifyInstance } from "fastify";
import { asTrpcError, problemOf } from "./errors.ts";
import type { RestOptions } from "./rest/plugin.ts";
import type { Context } from "./trpc.ts";
import { type ListBounds, listBounds } from "./whole-list.ts";

export interface TrpcOptions extends Pick<RestOptions, "admission" | "controlFor" | "onFault"> {
  readonly router: AnyRouter;
}

/** Calls in one request at most. */
export const BATCH_MAX = 50;

/** The same operations for tRPC's client, with the same admission. Registered under a prefix. */
export function trpcPlugin(app: FastifyInstance, options: TrpcOptions, done: () => void): void {
  const { router, onFault } = options;
  const bounds = listBounds(router);
  app.register(fastifyTRPCPlugin, {
    trpcOptions: {
      router,
      maxBatchSize: BATCH_MAX,
      createContext: (request: CreateFastifyContextOptions) => contextOf(request, options, bounds),
      responseMeta({ errors, ctx }: { errors: readonly unknown[]; ctx?: Context | undefined }) {
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

async function contextOf(
  { req, res, info }: CreateFastifyContextOptions,
  { admission, controlFor }: TrpcOptions,
  bounds: ListBounds,
): Promise<Context> {
  const gone = new AbortController();
  const { lists, close } = bounds.open();
  res.raw.once("close", () => {
    close();
    if (!res.raw.writableFinished) gone.abort();
  });
  const identity = await admission
    .identify({
      authorization: req.headers.authorization,
      ip: req.ip,
      calls: info.calls.length,
      setHeader: (name, value) => void res.header(name, value),
    })
    .catch((refusal: unknown) => {
      throw asTrpcError(refusal);
    });
  return {
    requestId: req.id,
    scope: identity?.scope,
    isApiEnabled: identity?.isApiEnabled ?? true,
    controlFor,
    signal: gone.signal,
    lists,
  };
}
