import { DomainError } from "@berth/core";
import Fastify from "fastify";
import { describe, expect, test, vi } from "vitest";
import { type Readiness, readiness, readinessRoute } from "./readiness.ts";

const PARTS = ["database", "disk", "proxy", "applications", "worker"] as const;

function started(): Readiness {
  const ready = readiness();
  for (const part of PARTS) ready.provide(part, async () => undefined);
  return ready;
}

async function ask(ready: Readiness) {
  const app = Fastify();
  readinessRoute(app, "/health/ready", ready);
  const { statusCode, headers, json } = await app.inject("/health/ready");
  return { statusCode, retryAfter: headers["retry-after"], ...json() };
}

describe("readiness", () => {
  test("is said when every part works", async () => {
    const checks = { database: "ok", disk: "ok", proxy: "ok", applications: "ok", worker: "ok" };
    expect(await ask(started())).toEqual({ statusCode: 200, retryAfter: undefined, status: "ready", checks });
  });

  test("names what is still starting", async () => {
    const ready = readiness();
    ready.provide("database", async () => undefined);
    const answer = await ask(ready);
    expect(answer).toMatchObject({ statusCode: 503, retryAfter: "5", status: "not_ready" });
    expect(answer.checks).toMatchObject({ database: "ok", proxy: "It is starting.", worker: "It is starting." });
  });

  test("names what is missing in a sentence, and nothing of an unexpected error", async () => {
    const ready = started();
    ready.provide("database", () => Promise.reject(new DomainError("database.unavailable", "It is away.")));
    ready.provide("proxy", () => Promise.reject(new Error("secret path")));
    const { statusCode, checks } = await ask(ready);
    expect([statusCode, checks.database, checks.disk]).toEqual([503, "It is away.", "ok"]);
    expect(checks.proxy).not.toContain("secret");
  });

  test("waits two seconds for a part that hangs", async () => {
    vi.useFakeTimers();
    try {
      const ready = started();
      ready.provide("applications", () => new Promise(() => undefined));
      const answer = ready.report();
      await vi.advanceTimersByTimeAsync(2000);
      expect((await answer).checks).toMatchObject({ applications: "It does not answer.", database: "ok" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("asks each part once for all who want to know it within a second", async () => {
    const ready = started();
    const check = vi.fn(async () => undefined);
    ready.provide("disk", check);
    await Promise.all(Array.from({ length: 20 }, () => ready.report()));
    expect(check).toHaveBeenCalledTimes(1);
  });
});
