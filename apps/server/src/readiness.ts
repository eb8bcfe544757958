import { DomainError, isDomainError } from "@berth/core";
import type { FastifyInstance } from "fastify";

/** Parts that this server needs, in the order in which they start. */
const PARTS = ["database", "disk", "proxy", "applications", "worker"] as const;
type ReadinessPart = (typeof PARTS)[number];

export interface ReadinessReport {
  readonly isReady: boolean;
  /** `ok`, or a sentence about the problem, without paths, addresses and names, because access is public. */
  readonly checks: Readonly<Record<ReadinessPart, string>>;
}

/** Readiness of this server. */
export interface Readiness {
  /** Sets a part's check. Without one the part counts as starting. */
  provide(part: ReadinessPart, check: () => Promise<unknown>): void;
  report(): Promise<ReadinessReport>;
}

/** Access is public, so calls within a second share one result. */
export function readiness(): Readiness {
  const checks = new Map<ReadinessPart, () => Promise<unknown>>();
  let last: { readonly report: Promise<ReadinessReport>; readonly atMs: number } | undefined;

  const problemOf = async (part: ReadinessPart): Promise<string> => {
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
      // Contains all parts.
      checks: Object.fromEntries(found) as Record<ReadinessPart, string>,
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

/** `GET /health/ready`: 200, or 503 with the failing parts. */
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
