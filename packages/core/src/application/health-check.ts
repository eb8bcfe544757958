import type { ReleaseState } from "../deploy/release.ts";
import { ENGINES, type EngineKind } from "../server/server-settings.ts";
import type { ApplicationSettings } from "./application.ts";

/** How it is found out that a release works, and how patiently. */
export interface HealthCheck {
  readonly probe: HealthProbe;
  readonly intervalSeconds: number;
  /** Time limit of one probe. */
  readonly timeoutSeconds: number;
  /** Failures in a row, outside of the start period, that mean unhealthy. */
  readonly failuresMax: number;
  /** In this first period failures do not count; the first success ends it. */
  readonly startPeriodSeconds: number;
}

export type HealthProbe = HttpProbe | CommandProbe | SteadyProbe;

export interface HttpProbe {
  readonly type: "http";
  readonly method: "GET" | "HEAD" | "POST" | "OPTIONS";
  readonly scheme: "http" | "https";
  /** Sent as the header `Host`; the request goes to the release itself. */
  readonly host: string;
  readonly path: string;
  /** A port of the release to probe instead of the one that takes traffic; `null` for that one. */
  readonly port: number | null;
  /** `null`: every status below 500. */
  readonly statusCode: number | null;
  /** Text that the answer must contain; `null` accepts any. */
  readonly text: string | null;
}

export interface CommandProbe {
  readonly type: "command";
  /** Run in the release's own environment by its shell; healthy when it exits with 0. */
  readonly script: string;
}

/** Healthy when it has run for some seconds. */
export interface SteadyProbe {
  readonly type: "steady";
}

/** The outcome of one probe. */
export type ProbeOutcome =
  | { readonly type: "answer"; readonly statusCode: number; readonly body: string }
  | { readonly type: "exit"; readonly exitCode: number; readonly output: string }
  | { readonly type: "refused" }
  | { readonly type: "timeout" }
  /** It takes connections, but what it says is not HTTP. */
  | { readonly type: "not_http" }
  /** There is nothing to run a command in. */
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

/** The check an application asks for; without one it must answer `GET /` with any status below 500 within a minute. */
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

/** The first exposed port is where the release takes traffic, wherever its engine has put it. */
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

/** For a release without a health check: the engine's own check decides, if it has one. */
export const STEADY_CHECK: HealthCheck = {
  probe: { type: "steady" },
  intervalSeconds: 1,
  timeoutSeconds: 5,
  failuresMax: 1,
  startPeriodSeconds: 300,
};

/** For a release with its own check, such as an image's HEALTHCHECK: the engine runs it and reports the result. */
export const OWN_CHECK: HealthCheck = { ...BUILT_IN_CHECK, startPeriodSeconds: 300 };

/** The problem that the release's own check reports, as a sentence about "it"; `undefined` when healthy. */
export const ownProblem = (health: NonNullable<ReleaseState["health"]>): string | undefined =>
  health === "healthy"
    ? undefined
    : health === "unhealthy"
      ? "its image's own HEALTHCHECK fails"
      : "its image's own HEALTHCHECK has not passed yet";

/** The same check for a release that has traffic: patient, and rare enough to cost nothing. */
export function watchOf(check: HealthCheck): HealthCheck {
  if (check === BUILT_IN_CHECK) return { ...check, intervalSeconds: 15, failuresMax: 3, startPeriodSeconds: 0 };
  return { ...check, intervalSeconds: Math.max(check.intervalSeconds, WATCH_SECONDS_MIN), startPeriodSeconds: 0 };
}

/** The problem that an outcome shows, as a sentence about "it"; `undefined` when healthy. */
export function problemOf({ probe, timeoutSeconds }: HealthCheck, outcome: ProbeOutcome): string | undefined {
  const request = probe.type === "http" ? `${probe.method} ${probe.path}` : "its health check command";
  switch (outcome.type) {
    case "refused":
      return "it refuses connections";
    case "timeout":
      return `${request} did not end within ${seconds(timeoutSeconds)}`;
    case "not_http":
      return "it takes connections but does not answer in HTTP";
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

/** How far the check of a candidate has come. */
export interface HealthProgress {
  /** In a row, outside of the start period. */
  readonly failures: number;
  readonly problem: string | undefined;
}

export const NO_PROGRESS: HealthProgress = { failures: 0, problem: undefined };

export type HealthVerdict =
  | { readonly verdict: "healthy" }
  | { readonly verdict: "unhealthy"; readonly problem: string }
  | { readonly verdict: "wait"; readonly seconds: number; readonly progress: HealthProgress };

/** Decides after each probe of a candidate. @param elapsedSeconds Since its start. */
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
 * While it starts, the wait grows with the time it has taken: a deployment waits hardly longer than the release does,
 * and one that takes long is not asked too often.
 */
function startDelaySeconds(check: HealthCheck, elapsedSeconds: number): number {
  const delay = Math.max(elapsedSeconds * START_DELAY_SHARE, START_DELAY_SECONDS_MIN);
  return Math.min(delay, check.intervalSeconds, START_DELAY_SECONDS_MAX);
}

/** Why a candidate need not be probed any further, as a sentence about "it"; `undefined` while it may become healthy. */
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
  if (exitCode === 137) return "it was killed (exit code 137), most often for want of memory";
  if (exitCode > 128) return `it was ended by signal ${exitCode - 128} (exit code ${exitCode})`;
  return `it exited with code ${exitCode}`;
}

/** The most common reason why nothing answers: it listens elsewhere. `undefined` when it listens where it should. */
export function portProblem(listening: readonly number[], port: number): string | undefined {
  if (listening.includes(port)) return undefined;
  if (listening.length === 0) return `it listens on no port, but should on the one in PORT (${port})`;
  const ports = [...listening].sort((a, b) => a - b).join(", ");
  return `it listens on port ${ports} instead of the port in PORT (${port})`;
}

/**
 * What to do about a release that listens elsewhere. Of an engine without containers the port in PORT is a free one of
 * the machine, which no setting names.
 */
export function portAdvice(listening: readonly number[], engine: EngineKind): string | undefined {
  const lowest = Math.min(...listening);
  if (listening.length === 0 || !ENGINES[engine].hasContainers) return undefined;
  return `Set ports_exposes to ${lowest}, or let it listen on the port in PORT.`;
}

const seconds = (count: number) => (count === 1 ? "1 second" : `${count} seconds`);

const START_DELAY_SHARE = 0.1;
const START_DELAY_SECONDS_MIN = 0.05;
const START_DELAY_SECONDS_MAX = 1;
const WATCH_SECONDS_MIN = 5;
// One crash may be a dependency that was not ready yet.
const CRASHES_MAX = 3;
