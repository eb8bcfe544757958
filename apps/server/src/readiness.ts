import { DomainError, isDomainError } from "@berth/core";
import type { FastifyInstance } from "fastify";

/** What this server needs to do its work, in the order in which a start provides it. */
const PARTS = ["database", "disk", "proxy", "applications", "worker"] as const;
type Part = (typeof PARTS)[number];

export interface ReadinessReport {
  readonly isReady: boolean;
  /** `ok`, or a sentence that says what is wrong. Without paths, addresses and names: anybody may read it. */
  readonly checks: Readonly<Record<Part, string>>;
}

/** Whether this server can do its work now. */
export interface Readiness {
  /** From here on the part is checked so. Before that it counts as starting. */
  provide(part: Part, check: () => Promise<unknown>): void;
  report(): Promise<ReadinessReport>;
}

/** Anybody may ask: callers of one second share an answer. */
export function readiness(): Readiness {
  const checks = new Map<Part, () => Promise<unknown>>();
  let last: { readonly report: Promise<ReadinessReport>; readonly atMs: number } | undefined;

  const problemOf = async (part: Part): Promise<string> => {
    const check = checks.get(part);
    if (check === undefined) return "It is starting.";
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new DomainError("internal.error", LATE)), ANSWER_MS_MAX);
    try {
      await Promise.race([check(), late.promise]);
      return OK;
    } catch (error) {
      return isDomainError(error) ? error.message : "It does not work. Berth's own log has the details.";
    } finally {
      clearTimeout(timer);
    }
  };

  const ask = async (): Promise<ReadinessReport> => {
    const found = await Promise.all(PARTS.map(async (part) => [part, await problemOf(part)] as const));
    return {
      isReady: found.every(([, problem]) => problem === OK),
      // Each part is in the list.
      checks: Object.fromEntries(found) as Record<Part, string>,
    };
  };

  return {
    provide: (part, check) => void checks.set(part, check),
    report() {
      if (last === undefined || performance.now() - last.atMs > KEPT_MS)
        last = { report: ask(), atMs: performance.now() };
      return last.report;
    },
  };
}

/** `GET /health/ready`: 200, or 503 with what is missing. */
export function readinessRoute(app: FastifyInstance, url: string, { report }: Pick<Readiness, "report">): void {
  app.get(url, async (_request, reply) => {
    const { isReady, checks } = await report();
    if (isReady) return await reply.send({ status: "ready", checks });
    return await reply.code(503).header("retry-after", RETRY_AFTER_SECONDS).send({ status: "not_ready", checks });
  });
}

const OK = "ok";
const LATE = "It does not answer.";
const ANSWER_MS_MAX = 2000;
const KEPT_MS = 1000;
const RETRY_AFTER_SECONDS = 5;
