import { PassThrough } from "node:stream";
import { DomainError } from "@berth/core";
import { localHost } from "@berth/host";
import { describe, expect, test } from "vitest";
import { BrokenOff, GrpcError } from "../buildkit/grpc.ts";
import { throughLosses } from "./connection-losses.ts";

const place = {
  host: { ...localHost("test"), connectSocket: async () => new PassThrough() },
  socketPath: "/engine.sock",
};
const loss = () => new BrokenOff("The stream ended.");

/** Attempts that end as listed, each after the names of its steps; the last one succeeds when none is left. */
async function attempts(endings: readonly { readonly steps?: readonly string[]; readonly cause: Error }[], on = place) {
  const done = new Set<string>();
  let count = 0;
  const build = async () => {
    const ending = endings[count];
    count += 1;
    if (ending === undefined) return;
    for (const step of ending.steps ?? []) done.add(step);
    throw ending.cause;
  };
  const io = { signal: new AbortController().signal, onLine: () => undefined };
  const error = await throughLosses(on, io, { build, done, pauseMsMax: 0 }).catch((cause: unknown) => cause);
  return { count, error };
}

describe("a build whose connection is lost", () => {
  test("is given up after many losses without a step in between", async () => {
    const { count, error } = await attempts(Array.from({ length: 99 }, () => ({ cause: loss() })));
    expect(count).toBe(60);
    expect(error).toMatchObject({ code: "engine.unreachable", message: expect.stringContaining("Deploy again") });
  });

  test("continues for as long as each attempt completes a step", async () => {
    const endings = Array.from({ length: 7 }, (_, at) => ({ steps: [`step ${at}`], cause: loss() }));
    expect(await attempts(endings)).toEqual({ count: 8, error: undefined });
  });

  test("counts the losses anew after a step, and a repeated step as none", async () => {
    const endings = [
      ...Array.from({ length: 4 }, () => ({ cause: loss() })),
      ...Array.from({ length: 99 }, () => ({ steps: ["a"], cause: loss() })),
    ];
    expect((await attempts(endings)).count).toBe(4 + 60);
  });

  test.each(["error reading from server: EOF", "no active session for x", "only one connection allowed"])(
    "knows BuildKit's words for a loss: %s",
    async (message) => {
      expect(await attempts([{ cause: new GrpcError(14, message) }])).toEqual({ count: 2, error: undefined });
    },
  );

  test("fails at once with an error of the build itself", async () => {
    const cause = new GrpcError(2, "failed to fetch: connection reset by peer");
    expect(await attempts([{ cause }])).toEqual({ count: 1, error: cause });
  });

  test("fails at once when the engine does not answer at all", async () => {
    const cause = new DomainError("server.unreachable", "Server test does not answer.");
    const away = { ...place, host: { ...place.host, connectSocket: () => Promise.reject(cause) } };
    expect(await attempts([{ cause: loss() }], away)).toEqual({ count: 1, error: cause });
  });
});
