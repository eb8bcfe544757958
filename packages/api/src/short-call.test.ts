import { expect, test } from "vitest";
import { z } from "zod";
import { appRouter } from "./root.ts";
import { shortenCalls } from "./short-call.ts";
import { t } from "./trpc.ts";

interface Definition {
  readonly output?: unknown;
  readonly middlewares: readonly { readonly _type?: string }[];
}
const definitionsOf = (router: { readonly _def: { readonly procedures: unknown } }) =>
  Object.values(router._def.procedures as Record<string, { readonly _def: Definition }>).map(({ _def }) => _def);

test("no operation has middlewares of tRPC for its input and its answer", () => {
  const left = definitionsOf(appRouter).filter(
    ({ output, middlewares }) => output && middlewares.some(({ _type }) => _type),
  );
  expect(left).toEqual([]);
});

const work: unknown[] = [];
const router = shortenCalls(
  t.router({
    double: t.procedure
      .input(z.strictObject({ number: z.int() }))
      .output(z.object({ doubled: z.int() }))
      .query(({ input, ctx }) => {
        work.push(ctx);
        return { doubled: input.number === 0 ? Number.NaN : input.number * 2, secret: true };
      }),
  }),
);
const call = (number: unknown) => router.createCaller({ requestId: "a" } as never).double({ number } as never);

test("an operation gets its parsed input and its context, and answers what its schema names", async () => {
  expect(await call(2)).toEqual({ doubled: 4 });
  expect(work).toEqual([expect.objectContaining({ requestId: "a" })]);
});

test("an input that its schema refuses is the client's error, and never reaches the work", async () => {
  work.length = 0;
  await expect(call("2")).rejects.toMatchObject({ code: "BAD_REQUEST", cause: expect.any(z.ZodError) });
  expect(work).toEqual([]);
});

test("an answer that its schema refuses is the server's error", async () => {
  await expect(call(0)).rejects.toMatchObject({ code: "INTERNAL_SERVER_ERROR", cause: expect.any(z.ZodError) });
});
