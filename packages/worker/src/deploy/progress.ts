import { DomainError } from "@berth/core";
import { inlineSecretsOf } from "@berth/core/compose";
import type { AnyStep, Artifact, DeploymentStep, StepName } from "@berth/core/deploy";
import type { Checkout, GitCredentials, ReleaseRecord, StepChange, WorkIO } from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { Logger } from "../ports.ts";
import type { WorkerSettings } from "../settings.ts";
import type { DeployContext, StepContext, StepWrite } from "./context.ts";
import type { DeploymentLog, LogLines } from "./log.ts";
import { secretTexts, valuesByKey } from "./secrets.ts";

export type DeployStep = AnyStep<StepContext> & { readonly name: StepName };
export type StepRow = Pick<DeploymentStep, "status" | "output" | "error">;

/** One worker's run of one deployment. */
export interface DeploymentRun {
  ctx: DeployContext;
  readonly log: DeploymentLog;
  readonly logger: Logger;
  readonly settings: WorkerSettings;
  readonly steps: readonly DeployStep[];
  /** Step rows as last saved. */
  readonly rows: Map<StepName, StepRow>;
  /** Merged output of the finished steps, typed by the pipeline. */
  state: object;
  /** The end of the last step, which is saved in the transaction that ends the deployment. */
  last?: StepEnd;
}

export interface StepEnd {
  readonly name: StepName;
  readonly change: Pick<StepChange, "status" | "output">;
  readonly writes: readonly StepWrite[];
}

interface SavedTogether {
  /** The next step, which is saved as running. */
  readonly begins?: StepName | undefined;
  readonly writes?: readonly StepWrite[];
}

/**
 * Saves a step together with the lines of the log that wait.
 * @param also Saved in the same transaction.
 * @throws DomainError when the lease is lost.
 */
export async function saveStep(
  { ctx: { lease, leaseKeeper, stores }, rows, log }: DeploymentRun,
  name: StepName,
  change: Omit<StepChange, "error"> & { readonly error?: string },
  { begins, writes = [] }: SavedTogether = {},
): Promise<void> {
  const shown = change.error === undefined ? change : { ...change, error: log.redact(change.error) };
  const save = (lines: LogLines) =>
    stores.transaction(async (tx) => {
      if (!(await tx.deployments.saveStep(lease, name, shown, { begins, lines }))) return false;
      for (const write of writes) await write(tx);
      return true;
    });
  assertLease(leaseKeeper, await log.storedWith(save));
  const update = (step: StepName, changed: Partial<StepRow> & Pick<StepRow, "status">) =>
    rows.set(step, { output: null, error: null, ...rows.get(step), ...changed });
  update(name, shown);
  if (begins !== undefined) update(begins, { status: "running" });
}

/** Makes a step's output available to later steps, and hides the secrets of the source's compose files from the log. */
export function mergeOutput(run: DeploymentRun, gives: object): void {
  run.state = { ...run.state, ...gives };
  // Only the build step returns an artifact.
  const { artifact } = gives as { readonly artifact?: Artifact };
  run.log.hide(secretTexts(inlineSecretsOf(artifact, valuesByKey(run.ctx.envs))));
}

interface StepRun {
  readonly wasInterrupted?: boolean;
  /** Gets what the step asks to have saved with its end. */
  readonly writes?: StepWrite[];
}

export function stepContext(
  run: DeploymentRun,
  name: StepName,
  { wasInterrupted = false, writes = [] }: StepRun = {},
): StepContext {
  const { ctx, log, rows } = run;
  const io: WorkIO = { signal: ctx.leaseKeeper.signal, onLine: (line, stream) => log.line(name, line, stream) };
  return {
    ...ctx,
    fetch: (commit) => fetchSource(run, commit, io),
    io,
    claimed: (domains) => {
      run.ctx = { ...run.ctx, domains };
    },
    say: (text, stream) => log.say(name, text, stream),
    wasInterrupted,
    isCancelled: [...rows.values()].some(({ status }) => status === "cancelled"),
    saved: rows.get(name)?.output ?? {},
    save: (output) => saveStep(run, name, { status: "running", output }),
    saveAtEnd: (write) => void writes.push(write),
  };
}

async function fetchSource({ ctx, log }: DeploymentRun, commit: string, io: WorkIO): Promise<Checkout> {
  const { subject, kind, source, deployment } = ctx;
  const application = kind.fetched(subject);
  const credentials = application && (await ctx.credentialsFor(application));
  log.hide(secretsOf(credentials, application?.settings.git_repository));
  return await source.checkout(kind.source(subject, { ...deployment, commit }, credentials), deployment.uuid, io);
}

function secretsOf(credentials: GitCredentials | undefined, repository = ""): readonly string[] {
  if (credentials?.type === "ssh") return [credentials.privateKey];
  const login = credentials?.login.for(repository);
  return login === undefined ? [] : [login.password];
}

/** Whether a deployment's release is or was the live one. */
export const hasTraffic = (release: ReleaseRecord | undefined): boolean =>
  release !== undefined && release.role !== "candidate";

/** Ends the run when a fenced write shows that another worker holds the lease. */
export function assertLease(leaseKeeper: LeaseKeeper, isHeld: boolean): void {
  if (isHeld) return;
  leaseKeeper.lose();
  throw new DomainError("deploy.interrupted", "Another worker has taken this deployment over.");
}
