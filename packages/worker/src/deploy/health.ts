import { DomainError, type ErrorCode, isDomainError } from "@berth/core";
import {
  BUILT_IN_CHECK,
  crashOf,
  type HealthCheck,
  type HealthProgress,
  judge,
  NO_PROGRESS,
  OWN_CHECK,
  ownProblem,
  PORT_REMEDY,
  portAdvice,
  portProblem,
  problemOf,
  takenPortAdvice,
} from "@berth/core/application";
import { containerTitle } from "@berth/core/compose";
import {
  failingContainer,
  isSameUpstream,
  namedLine,
  type ReleaseState,
  type ReplicaState,
  releaseLogTitle,
  replicaStates,
  runsOf,
  STEADY_SECONDS,
  type Step,
  silentUrls,
  stackCrash,
  stackFailedCheck,
  stackProblem,
  type Upstream,
} from "@berth/core/deploy";
import { type OwnAnswer, probeOwnCheck, probeRelease } from "../probe.ts";
import { pause } from "../wait.ts";
import type { StepContext } from "./context.ts";
import type { Started } from "./start.ts";

/** Failures in the first moments are normal and not logged. */
const QUIET_SECONDS = 2;

export interface Healthy {
  /** Whether it passed its own check, even if its engine has not run that check yet. */
  readonly hasPassedOwnCheck?: boolean;
}

/** Waits until the candidate is healthy. */
export const health: Step<StepContext, Started, Healthy> = {
  name: "health",
  resumable: true,
  async run(ctx, started) {
    let check = ctx.kind.healthCheck(ctx.subject);
    ctx.say(describe(check));
    const crashesMax = ctx.kind.isFirstRun(ctx.subject) ? 1 : undefined;
    const startedMs = performance.now();
    let progress: HealthProgress = NO_PROGRESS;
    let said: string | undefined;
    let askedBy: string | undefined;
    const steady = steadyWatch();
    const wrongPort = wrongPortWatch(ctx);
    for (;;) {
      const elapsedSeconds = (performance.now() - startedMs) / 1000;
      const state = await ctx.adapters.engine.inspect(ctx.ref);
      const replicas = state && replicaStates(state);
      const isStack = state !== undefined && replicas === undefined;
      const crash = state?.containers === undefined ? crashOf(state, crashesMax) : stackCrash(state);
      if (crash !== undefined) throw await crashed(ctx, crash, failingContainer(state));
      const failedCheck = stackFailedCheck(state);
      if (failedCheck !== undefined) throw await unhealthy(ctx, state, failedCheck, elapsedSeconds);

      if (isWaiting(state)) await ctx.adapters.engine.containers?.requireNodes?.(ctx.ref);
      if (state?.health !== undefined && check !== OWN_CHECK && !isStack) {
        if (check.probe.type !== "steady") ctx.say("Using the image's HEALTHCHECK.");
        check = OWN_CHECK;
      }
      const ranSeconds = steady(state, elapsedSeconds);
      const asked = await askOwnCheck(ctx, state, ranSeconds);
      if (asked !== undefined && askedBy === undefined) ctx.say(`Runs its check about every second: ${asked.command}`);
      askedBy ??= asked?.command;
      const problem = asked === undefined ? await problemNow(ctx, check, state, ranSeconds) : asked.problem;
      ctx.io.signal.throwIfAborted();
      const verdict = judge(check, progress, { problem, elapsedSeconds });
      if (verdict.verdict === "healthy") {
        // In a release of several containers each listens on its own ports.
        if (!isStack) await warnOfSilentUrls(ctx, state?.upstream ?? null);
        await followUpstream(ctx, started, state);
        return asked === undefined ? {} : { hasPassedOwnCheck: true };
      }
      const onWrongPort = await wrongPort(state, elapsedSeconds);
      // The engine has waited as long as the image asks for. An exited container is a crash instead.
      const isUnhealthy = state?.state === "running" && state.health === "unhealthy";
      const hasFailed = verdict.verdict === "unhealthy" || isUnhealthy;
      if (hasFailed || onWrongPort !== undefined) {
        throw await unhealthy(ctx, state, onWrongPort ?? problem ?? "", elapsedSeconds);
      }
      if (problem !== said && elapsedSeconds >= QUIET_SECONDS) {
        said = problem;
        ctx.say(`Not healthy yet: ${problem}.`);
      }
      progress = verdict.progress;
      await pause(verdict.seconds, ctx.io.signal);
    }
  },
};

/** Whether a container has not been made, as of one whose node was lost. */
const isWaiting = (state: ReleaseState | undefined): boolean =>
  (state?.containers ?? [state]).some((one) => one?.state === "created");

/** Its engine has found that it listens on a port of its own choice, which only the application itself may hold. */
async function followUpstream(ctx: StepContext, { upstream }: Started, state: ReleaseState | undefined): Promise<void> {
  const { stores, deployment, say } = ctx;
  const found = state?.upstream ?? null;
  if (upstream === null || found === null || isSameUpstream(upstream, found)) return;
  if (deployment.pull_request_id !== 0) {
    const problem = `The preview listens on port ${found.port}, which belongs to the application itself.`;
    throw await failure(ctx, "deploy.unhealthy", () => `${problem} ${PORT_REMEDY}`);
  }
  say(`It listens on port ${found.port} of ports_exposes, not on the one in PORT. Requests go there.`);
  await stores.releases.setUpstream(deployment.id, found);
}

/** Only while its engine has not: with engines before 25 that takes one interval, whatever the release needs. */
async function askOwnCheck(
  { adapters, io }: StepContext,
  state: ReleaseState | undefined,
  ranSeconds: number,
): Promise<OwnAnswer | undefined> {
  if (state?.containers === undefined) {
    const isAsked = state?.state === "running" && state.health === "starting";
    return isAsked ? await probeOwnCheck(adapters, state, io.signal) : undefined;
  }
  const answers = await Promise.all(
    state.containers.map(async (one) => {
      if (one.state !== "running" || one.health !== "starting") return undefined;
      const { address: host, port } = one;
      const upstream = host === null || port === null ? null : { host, port };
      return await probeOwnCheck(adapters, { ...state, upstream, container: containerTitle(one) }, io.signal);
    }),
  );
  const commands = [...new Set(answers.flatMap((answer) => answer?.command ?? []))];
  if (commands.length === 0) return undefined;
  // The check of each takes the place of the engine's, and the rest is judged as before.
  const containers = state.containers.map((one, index) => {
    const answer = answers[index];
    return answer !== undefined && answer.problem === undefined ? { ...one, health: "healthy" as const } : one;
  });
  return { command: commands.join("; "), problem: stackProblem({ ...state, containers }, ranSeconds) };
}

async function problemNow(
  ctx: StepContext,
  check: HealthCheck,
  state: ReleaseState | undefined,
  ranSeconds: number,
): Promise<string | undefined> {
  if (state === undefined) return "it has not started yet";
  const replicas = replicaStates(state);
  if (replicas === undefined) return stackProblem(state, ranSeconds);
  const problems = await Promise.all(replicas.map((one) => replicaProblem(ctx, check, one, ranSeconds)));
  const at = problems.findIndex((problem) => problem !== undefined);
  const title = replicas[at]?.container;
  return title === undefined ? problems[at] : `${title}: ${problems[at]}`;
}

async function replicaProblem(
  ctx: StepContext,
  check: HealthCheck,
  state: ReplicaState,
  ranSeconds: number,
): Promise<string | undefined> {
  if (state.state !== "running") return "it has not started yet";
  if (state.health !== undefined) return ownProblem(state.health);
  const isAsked = check.probe.type === "command" || (check.probe.type === "http" && state.upstream !== null);
  if (!isAsked) return ranSeconds < STEADY_SECONDS ? "it has not run for long yet" : undefined;
  return problemOf(check, await probeRelease(ctx.adapters, state, check, ctx.io.signal));
}

/** Seconds that a release has run without a restart: otherwise, what crashes slowly would count as running steadily. */
function steadyWatch() {
  let runs: string | undefined;
  let sinceSeconds = 0;
  return (state: ReleaseState | undefined, elapsedSeconds: number): number => {
    const now = runsOf(state);
    if (runs !== undefined && runs !== now) sinceSeconds = elapsedSeconds;
    runs = now;
    return elapsedSeconds - sinceSeconds;
  };
}

/** A release that has listened elsewhere alone for so long will not open the right port. */
function wrongPortWatch({ adapters, subject, kind, ref }: StepContext) {
  let sinceSeconds: number | undefined;
  let nextSeconds = LOOK_SECONDS;
  return async (state: ReleaseState | undefined, elapsedSeconds: number): Promise<string | undefined> => {
    const upstream = state?.upstream ?? null;
    const isAsked = kind.healthCheck(subject) !== BUILT_IN_CHECK;
    if (isAsked || upstream === null || elapsedSeconds < nextSeconds) return undefined;
    // Looking up ports runs a program in a container.
    nextSeconds = elapsedSeconds + LOOK_SECONDS;
    const ports = await adapters.engine.listeningPorts(ref);
    const problem = ports.length === 0 ? undefined : portProblem(ports, upstream.port);
    sinceSeconds = problem === undefined ? undefined : (sinceSeconds ?? elapsedSeconds);
    return sinceSeconds !== undefined && elapsedSeconds - sinceSeconds >= WRONG_PORT_SECONDS ? problem : undefined;
  };
}

/** These URLs would return only errors, with no other hint at the reason. */
async function warnOfSilentUrls(
  { adapters, domains, ref, say }: StepContext,
  upstream: Upstream | null,
): Promise<void> {
  if (upstream === null || !adapters.proxy.capabilities.upstreamPorts) return;
  // Looking up ports runs a program in the container, and most URLs name no port.
  if (silentUrls(domains, upstream, [upstream.port]).length === 0) return;
  try {
    const listening = (await adapters.engine.listeningPorts(ref)).map(({ port }) => port);
    const sentences = silentUrls(domains, upstream, listening);
    for (const sentence of sentences) say(`Warning: ${sentence}`, "stderr");
  } catch (error) {
    if (!isDomainError(error)) throw error;
  }
}

async function unhealthy(
  ctx: StepContext,
  state: ReleaseState | undefined,
  problem: string,
  elapsedSeconds: number,
): Promise<DomainError> {
  const ofKind = ctx.kind.unhealthyAdvice;
  // Where the check of one container has failed, that says more than the ports of another one.
  const isOfPorts = ofKind === undefined && stackFailedCheck(state) === undefined;
  const upstream = isOfPorts ? (state?.upstream ?? null) : null;
  const ports = upstream && (await ctx.adapters.engine.listeningPorts(ctx.ref));
  const elsewhere = upstream && ports && portProblem(ports, upstream.port);
  const cause = elsewhere ?? problem;
  const advice = ofKind ?? (elsewhere && upstream && ports ? portAdvice(ports, upstream.port) : undefined);
  const whole = Math.round(elapsedSeconds);
  const lasted = whole === 1 ? "1 second" : `${whole} seconds`;
  const told = `The new release is not healthy after ${lasted}: ${cause}.`;
  const container = failingContainer(state);
  sayCheckOutput(ctx, state);
  return await failure(ctx, "deploy.unhealthy", () => (advice === undefined ? told : `${told} ${advice}`), container);
}

/** What the own check of the release, or of its failing container, printed, which says why it fails. */
function sayCheckOutput({ say, io }: StepContext, state: ReleaseState | undefined): void {
  const title = failingContainer(state);
  const failing = state?.containers?.find((one) => containerTitle(one) === title) ?? state;
  if (failing?.healthOutput === undefined) return;
  say(`The HEALTHCHECK${title === undefined ? "" : ` of ${title}`} printed:`, "stderr");
  for (const line of failing.healthOutput.split("\n")) io.onLine(line, "stderr");
}

/** Where releases share the ports of the machine, another one may hold the port that it insists on. */
async function crashed(ctx: StepContext, crash: string, container: string | undefined): Promise<DomainError> {
  const { adapters, ref } = ctx;
  const others = adapters.engine.capabilities.networks ? undefined : await adapters.engine.list();
  const holders = others?.filter(({ deploymentUuid }) => deploymentUuid !== ref.deploymentUuid) ?? [];
  const told = `The new release crashed: ${crash}.`;
  const message = (lastLines: readonly string[]) => {
    const advice = others === undefined ? undefined : takenPortAdvice(lastLines, ref, holders);
    return advice === undefined ? told : `${told} ${advice}`;
  };
  return await failure(ctx, "deploy.start_failed", message, container);
}

/** Adds the release's last log lines to the deployment's log. */
async function failure(
  { adapters, ref, io, say }: StepContext,
  code: ErrorCode,
  message: (lastLines: readonly string[]) => string,
  container?: string,
): Promise<DomainError> {
  const last: string[] = [];
  const query = { lines: LAST_LINES, signal: io.signal, ...(container === undefined ? {} : { container }) };
  try {
    for await (const line of adapters.engine.logs(ref, query)) last.push(namedLine(line));
    const nothing = `${container === undefined ? "The release" : `Container ${container}`} wrote no log.`;
    say(last.length === 0 ? nothing : releaseLogTitle(container), "stderr");
    for (const line of last) io.onLine(line, "stderr");
  } catch (error) {
    if (!isDomainError(error)) throw error;
    say("The release's log cannot be read.", "stderr");
  }
  return new DomainError(code, message(last));
}

function describe({ probe, startPeriodSeconds, failuresMax, intervalSeconds, timeoutSeconds }: HealthCheck): string {
  const patienceSeconds = startPeriodSeconds + (failuresMax - 1) * intervalSeconds + timeoutSeconds;
  if (probe.type === "steady") return "Waits until it runs steadily, by its own health check where it has one";
  const what = probe.type === "http" ? `${probe.method} ${probe.path}` : "the health check command";
  return `Waits at most ${patienceSeconds} seconds for ${what}`;
}

/** A program that opens a port for metrics first, and its own one later than this, needs a health check that is set. */
const WRONG_PORT_SECONDS = 5;
const LOOK_SECONDS = 2;
const LAST_LINES = 20;
