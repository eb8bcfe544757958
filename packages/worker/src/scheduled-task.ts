import { DomainError, isDomainError } from "@berth/core";
import { CANCELLED_BY_USER } from "@berth/core/backup";
import { inlineSecretsOf, isContainerOf } from "@berth/core/compose";
import { deployedKind, REPLICA } from "@berth/core/deploy";
import type { ClaimedTask, ExecResult, TaskExecutionStatus } from "@berth/core/ports";
import { secretsOf, valuesByKey } from "./deploy/secrets.ts";
import { variablesOf } from "./deploy/variables.ts";
import type { LeaseKeeper, RunEnding } from "./lease-keeper.ts";
import { recordEnd } from "./lease-runner.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ScheduledKind } from "./scheduler.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ValidationDeps } from "./server-validation.ts";
import { taskOutput } from "./task-output.ts";

/** A due run becomes a queued execution, claimed by a worker that reaches its server. */
export const scheduledTask: ScheduledKind = {
  begin: (stores, { subjectId, dueAt }) => stores.scheduledTasks.begin(subjectId, dueAt),
};

interface TaskEnd {
  readonly status: Exclude<TaskExecutionStatus, "running">;
  readonly exit_code: number | null;
  readonly error_details: string | null;
}

/** Runs a claimed task in a running container of its resource. Never rejects. */
export async function runTask(deps: ValidationDeps, task: ClaimedTask, keeper: LeaseKeeper): Promise<void> {
  const { stores, clock, logger, settings, owner } = deps;
  const lease = { uuid: task.execution_uuid, owner };
  const details = { task: task.task_uuid, execution: task.execution_uuid };
  try {
    const secrets = await secretsFor(deps, task).catch((cause: unknown) => {
      // Too large variables are a failure of the task itself.
      if (isDomainError(cause, "deploy.start_failed")) return cause;
      throw cause;
    });
    const redact = deps.redactor(isDomainError(secrets) ? [] : secrets);
    const output = taskOutput({ tasks: stores.scheduledTasks, lease, redact, logger, settings });
    const end = await endOf(task, keeper, logger, async () => {
      if (isDomainError(secrets)) throw secrets;
      const result = await execute(deps, task, keeper.signal, (line) => output.line(line));
      if (output.isEmpty) for (const line of linesOf(result.output)) output.line(line);
      return result;
    });
    await output.close();
    if (end === undefined) return;
    const error_details = end.error_details && redact(end.error_details);
    const finished_at = clock.now();
    await recordEnd(keeper, () => stores.scheduledTasks.finish(lease, { ...end, error_details, finished_at }));
    logger.info("Scheduled task ended.", { ...details, status: end.status });
  } catch (error) {
    // Another worker records it as failed once the lease has expired.
    logger.warn("The end of a scheduled task could not be recorded.", { ...details, error });
  }
}

/** `undefined` when this worker must not record the end. */
async function endOf(
  task: ClaimedTask,
  keeper: LeaseKeeper,
  logger: WorkerDeps["logger"],
  work: () => Promise<ExecResult>,
): Promise<TaskEnd | undefined> {
  const startedMs = performance.now();
  try {
    const { exitCode } = await work();
    if (exitCode === 0) return { status: "success", exit_code: 0, error_details: null };
    const isTimeout = exitCode === TIMEOUT_CODE && performance.now() - startedMs >= task.timeout * 1000;
    if (isTimeout) return failed(`It took longer than ${task.timeout} s and was ended.`);
    return { status: "failed", exit_code: exitCode, error_details: `It exited with code ${exitCode}.` };
  } catch (error) {
    if (keeper.ending !== undefined) return ENDINGS[keeper.ending];
    if (isDomainError(error, "resource.not_found")) return failed(notRunning(task));
    if (isDomainError(error)) return failed(error.message);
    logger.warn("A scheduled task could not be run.", { task: task.task_uuid, error });
    return failed("It could not be run. Berth's own log has the details.");
  }
}

const failed = (sentence: string): TaskEnd => ({ status: "failed", exit_code: null, error_details: sentence });

const ENDINGS: Readonly<Record<RunEnding, TaskEnd | undefined>> = {
  cancelled: failed(CANCELLED_BY_USER),
  // The engine ends a command that exceeds its time limit.
  timeout: failed("It exceeded its time limit and was ended."),
  gone: failed("Its resource is being deleted."),
  stopped: failed("The control plane was stopped while it ran."),
  lost: undefined,
};

const notRunning = ({ resource_kind }: ClaimedTask) => `The ${resource_kind} is not running. Start it first.`;

async function execute(
  deps: ValidationDeps,
  task: ClaimedTask,
  signal: AbortSignal,
  onLine: (line: string) => void,
): Promise<ExecResult> {
  const { stores, settings } = deps;
  const [server, release] = await Promise.all([
    stores.servers.find(task.server_id),
    stores.releases.live({ ...task, pull_request_id: 0 }),
  ]);
  if (server === undefined || release === undefined) throw new DomainError("resource.not_running", notRunning(task));
  const ref = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
  const { engine }: ServerAdapters = deps.adaptersOf(server);
  // With a single container there is nothing to choose, but an application may have several replicas.
  const wanted = task.container ?? "";
  const isChoice = wanted !== "" && (release.artifact.type === "stack" || isContainerOf([REPLICA], wanted));
  const container = isChoice ? wanted : undefined;
  try {
    return await engine.exec(ref, task.command, {
      timeoutSeconds: Math.min(task.timeout, TIMEOUT_SECONDS_MAX),
      signal,
      maxOutputBytes: settings.taskOutputBytesMax,
      onLine,
      ...(container === undefined ? {} : { container }),
    });
  } catch (error) {
    const isMissing = isDomainError(error, "resource.not_found") && container !== undefined;
    if (!isMissing || (await engine.inspect(ref)) === undefined) throw error;
    const sentence = `It has no container ${container}. Change the container of the task to one that it has.`;
    throw new DomainError("resource.not_running", sentence, { cause: error });
  }
}

/** The same secrets as in the log of a deployment. */
async function secretsFor({ stores }: WorkerDeps, task: ClaimedTask): Promise<readonly string[]> {
  const team = stores.forTeam(task.team_id);
  const key = { ...task, pull_request_id: 0 };
  const [routing, variables, live] = await Promise.all([
    stores.resources.routing(key, task.resource_kind),
    variablesOf(team, task),
    stores.releases.live(key),
  ]);
  const { subject, domains } = routing ?? {};
  const own = subject === undefined ? [] : deployedKind(subject).secretTexts(subject);
  const inline = inlineSecretsOf(live?.artifact, valuesByKey(variables.envs));
  return secretsOf({ ...variables, own, inline, domains: domains ?? [], subject });
}

const linesOf = (output: string): readonly string[] => (output === "" ? [] : output.replace(/\n$/, "").split("\n"));

/** Exit code of the program `timeout`. */
const TIMEOUT_CODE = 124;
/** Longest delay of a JavaScript timer. */
const TIMEOUT_SECONDS_MAX = 2_147_483;
