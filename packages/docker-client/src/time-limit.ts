import { inspect } from "node:util";
import { DomainError } from "@berth/core";
import type Docker from "dockerode";

/** Time limits for answers of an engine. */
export interface TimeLimits {
  /** Limit of calls that only read. */
  readonly readSeconds: number;
  /** Limit of calls that change something: they may transfer much data, or wait for other work of the engine. */
  readonly changeSeconds: number;
}

/** Far above the answer times of a busy engine, so that only one that hangs is given up. */
export const TIME_LIMITS: TimeLimits = { readSeconds: 60, changeSeconds: 300 };

/** Prevents callers from hanging on an engine that accepts a request and never answers. */
export function withTimeLimits(docker: Docker, server: string, limits: TimeLimits = TIME_LIMITS): Docker {
  const { modem } = docker;
  const dial: typeof modem.dial = modem.dial.bind(modem);
  modem.dial = (request, callback) => {
    const seconds = secondsOf(request, limits);
    if (seconds === undefined) return dial(request, callback);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), seconds * 1000).unref();
    const abortSignal = request.abortSignal ? AbortSignal.any([request.abortSignal, late.signal]) : late.signal;
    // docker-modem describes each request to its log, also while that is off.
    Object.assign(abortSignal, { [inspect.custom]: () => "[AbortSignal]" });
    dial({ ...request, abortSignal }, (error, answer) => {
      clearTimeout(timer);
      callback?.(error && late.signal.aborted ? tooLate(server, seconds, error) : error, answer);
    });
  };
  return docker;
}

/** `undefined`: no limit. */
export function secondsOf(request: Request, { readSeconds, changeSeconds }: TimeLimits): number | undefined {
  // Streams end with their connection, or by their reader or writer.
  if (request.isStream || request.hijack || request.openStdin || request.file !== undefined) return undefined;
  const [path = ""] = request.path.split("?");
  if (/\/(?:wait|prune)$/.test(path) || path === "/commit") return undefined;
  if (/^\/containers\/[^/]+\/(?:stop|restart)$/.test(path)) {
    // The grace time of a stop is the container's own, which is unknown here, or unlimited.
    const graceSeconds: unknown = request.options?.t;
    return typeof graceSeconds === "number" && graceSeconds >= 0 ? graceSeconds + changeSeconds : undefined;
  }
  const isReading = request.method === "GET" || request.method === "HEAD";
  // Slow: sizes are summed up file by file, and logs may be large.
  const isLong = /\/(?:df|logs|changes)$/.test(path) || request.options?.size === true;
  return isReading && !isLong ? readSeconds : changeSeconds;
}

type Request = Parameters<Docker["modem"]["dial"]>[0];

const tooLate = (server: string, seconds: number, cause: unknown): DomainError =>
  new DomainError(
    "engine.unreachable",
    `The engine of ${server} does not answer: it took more than ${seconds} s. Check that Docker runs there.`,
    { cause },
  );
