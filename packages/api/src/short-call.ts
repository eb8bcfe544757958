import { type AnyRouter, TRPCError } from "@trpc/server";
import type { ZodType } from "zod";
import { type CheckedOutput, compiledOutput } from "./compiled-output.ts";

/**
 * Lets each operation's input, work and answer be one middleware of tRPC instead of three: each copies the whole call
 * twice, which costs a small read more than its query. Answers are checked by compiled code.
 */
export function shortenCalls<Router extends AnyRouter>(router: Router): Router {
  // tRPC stores the flattened procedures here, with the middlewares that a call runs. Its version is pinned.
  for (const { _def } of Object.values(router._def.procedures as Record<string, { readonly _def: Definition }>)) {
    const { middlewares, output, resolver } = _def;
    const last = middlewares.at(-2);
    if (last?._type !== "output" || output === undefined) continue;
    const input = middlewares.at(-3)?._type === "input" ? middlewares.at(-3) : undefined;
    middlewares.splice(input === undefined ? -2 : -3, 3, answering({ input, resolver, check: compiledOutput(output) }));
  }
  return router;
}

function answering({ input, resolver, check }: Answering): Middleware {
  const answer = async (call: Call): Promise<Result> => {
    const data = await resolver(call);
    try {
      return { ok: true, ...check(data), ctx: call.ctx };
    } catch (cause) {
      throw new TRPCError({ message: "Output validation failed", code: "INTERNAL_SERVER_ERROR", cause });
    }
  };
  if (input === undefined) return answer;
  return (call) => input({ ...call, next: (parsed) => answer({ ...call, input: parsed?.input }) });
}

interface Answering {
  /** tRPC's own, which parses the input. */
  readonly input: Middleware | undefined;
  readonly resolver: (call: Call) => Promise<unknown>;
  readonly check: (data: unknown) => CheckedOutput;
}

interface Definition extends Pick<Answering, "resolver"> {
  readonly middlewares: Middleware[];
  readonly output?: ZodType;
}

interface Middleware {
  (call: Call): Promise<Result>;
  readonly _type?: string;
}

interface Call {
  readonly ctx: unknown;
  readonly input: unknown;
  readonly next: (parsed?: { readonly input: unknown }) => Promise<Result>;
}

interface Result extends CheckedOutput {
  readonly ok: true;
  readonly ctx: unknown;
}
