import type { ReleaseState } from "../deploy/release.ts";
import type { ListeningPort } from "../ports/engine.ts";
import type { ApplicationSettings } from "./application.ts";

/** How a release is probed, and how often, before it counts as healthy. */
export interface HealthCheck {
  readonly probe: HealthProbe;
  readonly intervalSeconds: number;
  /** Time limit of one probe. */
  readonly timeoutSeconds: number;
  /** Consecutive failures after the start period that make it unhealthy. */
  readonly failuresMax: number;
  /** Failures in this first period do not count; the first success ends it. */
  readonly startPeriodSeconds: number;
}

export type HealthProbe = HttpProbe | CommandProbe | SteadyProbe;

export interface HttpProbe {
  readonly type: "http";
  readonly method: "GET" | "HEAD" | "POST" | "OPTIONS";
  readonly scheme: "http" | "https";
  /** Sent as the header `Host`; the request itself goes to the release. */
  readonly host: string;
  readonly path: string;
  /** Port of the release to probe; `null` for the port that takes traffic. */
  readonly port: number | null;
  /** `null`: every status below 500. */
  readonly statusCode: number | null;
  /** Text that the answer must contain; `null` for any. */
  readonly text: string | null;
}

export interface CommandProbe {
  readonly type: "command";
  /** Run by the shell in the release's own environment; healthy when it exits with 0. */
  readonly script: string;
}

/** Healthy after running for some seconds. */
export interface SteadyProbe {
  readonly type: "steady";
}

/** The outcome of one probe. */
export type ProbeOutcome =
  | { readonly type: "answer"; readonly statusCode: number; readonly body: string }
  | { readonly type: "exit"; readonly exitCode: number; readonly output: string }
  | { readonly type: "refused" }
  | { readonly type: "timeout" }
  /** It accepts connections, but does not speak HTTP. */
  | { readonly type: "not_http" }
  /** Nothing runs in which a command could be run. */
  | { readonly type: "not_running" };

type HealthSettings = Pick<
  ApplicationSettings,
  | "health_check_enabled"
  | "health_check_type"
  | "health_check_command"
  | "health_check_path"
  | "health_check_port"
  | "ports_exposes"
  | "health_check_host"
  | "health_check_method"
  | "health_check_return_code"
  | "health_check_scheme"
  | "health_check_response_text"
  | "health_check_interval"
  | "health_check_timeout"
  | "health_check_retries"
  | "health_check_start_period"
>;

/** The health check of an application; the default expects any status below 500 from `GET /` within a minute. */
export function healthCheckOf(settings: HealthSettings): HealthCheck {
  if (!settings.health_check_enabled) return BUILT_IN_CHECK;
  return {
    probe: probeOf(settings),
    intervalSeconds: settings.health_check_interval,
    timeoutSeconds: settings.health_check_timeout,
    failuresMax: settings.health_check_retries,
    startPeriodSeconds: settings.health_check_start_period,
  };
}

function probeOf(settings: HealthSettings): HealthProbe {
  if (settings.health_check_type === "cmd" && settings.health_check_command !== null) {
    return { type: "command", script: settings.health_check_command };
  }
  return {
    type: "http",
    method: settings.health_check_method,
    scheme: settings.health_check_scheme,
    host: settings.health_check_host,
    path: settings.health_check_path,
    port: otherPort(settings),
    statusCode: settings.health_check_return_code,
    text: settings.health_check_response_text,
  };
}

/** A port to probe other than the first exposed one, which takes the traffic and may be mapped by the engine. */
function otherPort({ health_check_port: port, ports_exposes }: HealthSettings): number | null {
  const [first] = (ports_exposes ?? "").split(",");
  return port === null || String(port) === first ? null : port;
}

export const BUILT_IN_CHECK: HealthCheck = {
  probe: {
    type: "http",
    method: "GET",
    scheme: "http",
    host: "localhost",
    path: "/",
    port: null,
    statusCode: null,
    text: null,
  },
  intervalSeconds: 1,
  timeoutSeconds: 5,
  failuresMax: 1,
  startPeriodSeconds: 60,
};

/** For a release without a health check of Berth: the engine's own check decides, if there is one. */
export const STEADY_CHECK: HealthCheck = {
  probe: { type: "steady" },
  intervalSeconds: 1,
  timeoutSeconds: 5,
  failuresMax: 1,
  startPeriodSeconds: 300,
};

/** For a release with its own check, such as an image's HEALTHCHECK: the engine runs it and reports the result. */
export const OWN_CHECK: HealthCheck = { ...BUILT_IN_CHECK, startPeriodSeconds: 300 };

/** The problem that the release's own check reports, as the end of a sentence; `undefined` when healthy. */
export const ownProblem = (health: NonNullable<ReleaseState["health"]>): string | undefined =>
  health === "healthy"
    ? undefined
    : health === "unhealthy"
      ? "its image's own HEALTHCHECK fails"
      : "its image's own HEALTHCHECK has not passed yet";

/** The same check for the live release, less strict and less frequent. */
export function watchOf(check: HealthCheck): HealthCheck {
  if (check === BUILT_IN_CHECK) return { ...check, intervalSeconds: 15, failuresMax: 3, startPeriodSeconds: 0 };
  return { ...check, intervalSeconds: Math.max(check.intervalSeconds, WATCH_SECONDS_MIN), startPeriodSeconds: 0 };
}

/** The problem that an outcome shows, as the end of a sentence; `undefined` when healthy. */
export function problemOf({ probe, timeoutSeconds }: HealthCheck, outcome: ProbeOutcome): string | undefined {
  const request = probe.type === "http" ? `${probe.method} ${probe.path}` : "its health check command";
  switch (outcome.type) {
    case "refused":
      return "it refuses connections";
    case "timeout":
      return `${request} did not end within ${seconds(timeoutSeconds)}`;
    case "not_http":
      return "it accepts connections but does not speak HTTP";
    case "not_running":
      return "it is not running";
    case "exit":
      return outcome.exitCode === 0 ? undefined : `${request} exited with code ${outcome.exitCode}`;
    case "answer":
      return probe.type === "http" ? answerProblem(probe, request, outcome) : undefined;
  }
}

function answerProblem(
  { statusCode, text }: HttpProbe,
  request: string,
  answer: { readonly statusCode: number; readonly body: string },
): string | undefined {
  if (statusCode === null && answer.statusCode >= 500) return `${request} answered ${answer.statusCode}`;
  if (statusCode !== null && answer.statusCode !== statusCode) {
    return `${request} answered ${answer.statusCode} instead of ${statusCode}`;
  }
  if (text !== null && !answer.body.includes(text)) return `the answer to ${request} does not contain "${text}"`;
  return undefined;
}

/** Progress of a candidate's health check. */
export interface HealthProgress {
  /** Consecutive failures after the start period. */
  readonly failures: number;
  readonly problem: string | undefined;
}

export const NO_PROGRESS: HealthProgress = { failures: 0, problem: undefined };

export type HealthVerdict =
  | { readonly verdict: "healthy" }
  | { readonly verdict: "unhealthy"; readonly problem: string }
  | { readonly verdict: "wait"; readonly seconds: number; readonly progress: HealthProgress };

/** Decides after each probe of a candidate. @param elapsedSeconds Since the candidate was started. */
export function judge(
  check: HealthCheck,
  progress: HealthProgress,
  probe: { readonly problem: string | undefined; readonly elapsedSeconds: number },
): HealthVerdict {
  const { problem, elapsedSeconds } = probe;
  if (problem === undefined) return { verdict: "healthy" };
  const isStarting = elapsedSeconds < check.startPeriodSeconds;
  const failures = isStarting ? 0 : progress.failures + 1;
  if (failures >= check.failuresMax) return { verdict: "unhealthy", problem };
  const seconds = isStarting ? startDelaySeconds(check, elapsedSeconds) : check.intervalSeconds;
  return { verdict: "wait", seconds, progress: { failures, problem } };
}

/**
 * During the start the pause grows with the time passed: a deployment waits hardly longer than the release needs, and
 * a slow release is not probed too often.
 */
function startDelaySeconds(check: HealthCheck, elapsedSeconds: number): number {
  const delay = Math.max(elapsedSeconds * START_DELAY_SHARE, START_DELAY_SECONDS_MIN);
  return Math.min(delay, check.intervalSeconds, START_DELAY_SECONDS_MAX);
}

/** Why a candidate needs no further probes, as the end of a sentence; `undefined` while it may still become healthy. */
export function crashOf(
  state: Pick<ReleaseState, "state" | "exitCode" | "restartCount"> | undefined,
  crashesMax = CRASHES_MAX,
): string | undefined {
  if (state === undefined) return "it is gone";
  const hasEnded = state.state === "exited" || state.state === "dead";
  if (hasEnded) return exitPhrase(state.exitCode);
  if (state.restartCount < crashesMax) return undefined;
  const phrase = exitPhrase(state.exitCode);
  return state.restartCount === 1 ? phrase : `${phrase}, ${state.restartCount} times in a row`;
}

function exitPhrase(exitCode: number | null): string {
  if (exitCode === null) return "it exited";
  if (exitCode === 137) return "it was killed (exit code 137), most often for lack of memory";
  if (exitCode > 128) return `it was ended by signal ${exitCode - 128} (exit code ${exitCode})`;
  return `it exited with code ${exitCode}`;
}

/**
 * The most common causes of unanswered probes: the release listens on another port, or on its container's loopback
 * address alone. `undefined` when it listens where requests arrive.
 */
export function portProblem(listening: readonly ListeningPort[], port: number): string | undefined {
  const right = listening.find((one) => one.port === port);
  if (right !== undefined) {
    return (
      right.loopback && `it listens on ${right.loopback} only, which no request from outside its container reaches`
    );
  }
  if (listening.length === 0) return `it listens on no port, but should on the one in PORT (${port})`;
  const ports = listening.map((one) => one.port).sort((a, b) => a - b);
  return `it listens on port ${ports.join(", ")} instead of the port in PORT (${port})`;
}

/** Advice for a release with that problem. */
export function portAdvice(listening: readonly ListeningPort[], port: number): string | undefined {
  if (listening.some((one) => one.port === port)) return ADDRESS_ADVICE;
  const open = listening.flatMap((one) => (one.loopback === undefined ? one.port : []));
  if (open.length > 0) {
    return `Set ports_exposes to ${Math.min(...open)} (berth deploy --ports-exposes), or let it listen on the port in PORT.`;
  }
  const [local] = listening;
  return (
    local && `Let it listen on the port in PORT, and on 0.0.0.0 (the address in HOST) instead of ${local.loopback}.`
  );
}

const ADDRESS_ADVICE = "Let it listen on 0.0.0.0 (the address in HOST).";

/**
 * Advice for a release that crashed since its port is taken, as its last lines say; `undefined` for other crashes.
 * @param others Releases of the same machine. Those of other applications are not named.
 */
export function takenPortAdvice(
  lastLines: readonly string[],
  { resourceUuid }: Pick<ReleaseState, "resourceUuid">,
  others: readonly Pick<ReleaseState, "resourceUuid" | "upstream">[],
): string | undefined {
  if (!lastLines.some((line) => PORT_TAKEN.test(line))) return undefined;
  // Some print the port in a line of its own.
  const named = new Set(lastLines.flatMap((line) => line.match(/\d+/g) ?? []).map(Number));
  const holders = others.filter(({ upstream }) => upstream !== null && named.has(upstream.port));
  const isOwn = holders.some((other) => other.resourceUuid === resourceUuid);
  const holder = isOwn ? " by the application itself" : holders.length > 0 ? " by another application" : "";
  return `The port that it insists on is taken${holder}. ${PORT_REMEDY}`;
}

/** As Node, Go, Ruby, Rust, PHP and Java say it, and Python: `[Errno 98] Address already in use`. */
const PORT_TAKEN = /EADDRINUSE|address (is )?already in use|port \d+ is (already )?(in use|taken)|:eaddrinuse/i;

/** For a program that cannot have the port it insists on. */
export const PORT_REMEDY =
  "Let it listen on the port in PORT, such as by $PORT in the start command, or use a server with Docker.";

const seconds = (count: number) => (count === 1 ? "1 second" : `${count} seconds`);

const START_DELAY_SHARE = 0.1;
const START_DELAY_SECONDS_MIN = 0.02;
const START_DELAY_SECONDS_MAX = 1;
const WATCH_SECONDS_MIN = 5;
// Single crashes may come from a dependency that was not ready yet.
const CRASHES_MAX = 3;
