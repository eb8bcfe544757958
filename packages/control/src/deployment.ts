import { DomainError, notFound } from "@berth/core";
import {
  type Deployment,
  type DeploymentCancelled,
  type DeploymentEvent,
  type DeploymentLogPage,
  type DeploymentStepView,
  deploymentView,
  isTerminal,
  LOG_FIELD_LINES_MAX,
  logEntryView,
  logsText,
  stepView,
} from "@berth/core/deploy";
import type { DeploymentRecord, Page, Paging, Stores } from "@berth/core/ports";
import type { ResourceRef } from "@berth/core/resource";
import { maySeeSecrets, requireAbility, type Scope } from "@berth/core/team";
import { findResource, type UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";
import { whileTokenWorks } from "./token-watch.ts";

/** Cancelled work ends within five seconds; the answer waits a little longer. */
const CANCEL_WAIT_SECONDS = 8;
/** Number of lines that a follower reads at once. */
const FOLLOW_LINES = 500;

export function deployments({ scope, stores, clock }: UseCaseContext) {
  const isOpen = maySeeSecrets(scope);
  const listed = (deployment: DeploymentRecord) => deploymentView(deployment, isOpen ? null : undefined);

  return {
    /** Queued and in progress, oldest first. */
    async listActive(paging: Paging): Promise<Page<Deployment>> {
      requireAbility(scope, "read");
      return mapPage(await stores.deployments.listActive(paging), listed);
    },

    /** Newest first. */
    async listByResource(
      ref: ResourceRef,
      { pull_request_id, ...paging }: Paging & { readonly pull_request_id?: number | undefined },
    ): Promise<Page<Deployment>> {
      requireAbility(scope, "read");
      const { id } = await findResource(stores, ref);
      const page = await stores.deployments.listByResource(id, { pull_request_id }, paging);
      return mapPage(page, listed);
    },

    async get(uuid: string): Promise<Deployment> {
      requireAbility(scope, "read");
      const deployment = await findDeployment(stores, uuid);
      if (!isOpen) return deploymentView(deployment, undefined);
      const lines = await stores.deployments.log(deployment.id, { last: LOG_FIELD_LINES_MAX });
      return deploymentView(deployment, logsText(lines));
    },

    async steps(uuid: string): Promise<DeploymentStepView[]> {
      requireAbility(scope, "read");
      const { id } = await findDeployment(stores, uuid);
      return (await stores.deployments.steps(id)).map(stepView);
    },

    async log(uuid: string, { after, take }: { after: number; take: number }): Promise<DeploymentLogPage> {
      requireAbility(scope, "read");
      // Reads the status first: if it is terminal, the lines read afterwards are complete.
      const { id, status } = await findDeployment(stores, uuid);
      const lines = await stores.deployments.log(id, { after, take });
      const shown = lines.filter(({ hidden }) => isOpen || !hidden);
      return { status, lines: shown.map(logEntryView), next: lines.at(-1)?.seq ?? after };
    },

    /**
     * All events after the line `after`, until the deployment has ended or the token becomes invalid. Each event has
     * the cursor to resume from.
     */
    async follow(
      uuid: string,
      options: { readonly after: number; readonly signal: AbortSignal },
    ): Promise<AsyncIterable<FollowedEvent>> {
      requireAbility(scope, "read");
      await findDeployment(stores, uuid);
      const { after } = options;
      return whileTokenWorks({ scope, stores }, options.signal, (signal) =>
        followEvents(scope, stores, uuid, { after, signal }),
      );
    },

    /**
     * Returns when the work has ended, so that the status is final.
     * @throws DomainError `deployment.not_cancellable`
     */
    async cancel(uuid: string): Promise<DeploymentCancelled> {
      requireAbility(scope, "deploy");
      const before = await findDeployment(stores, uuid);
      if (isTerminal(before.status)) throw notCancellable(before);
      const asked = await stores.deployments.requestCancel(uuid);
      if (asked === undefined) throw notFound("Deployment");
      const after = await untilEnded(asked);
      if (after.status === "cancelled-by-user") {
        return { message: "Deployment cancelled successfully.", deployment_uuid: uuid, status: after.status };
      }
      // It ended before it noticed the request.
      if (isTerminal(after.status)) throw notCancellable(after);
      return { message: "Deployment cancellation requested.", deployment_uuid: uuid, status: after.status };
    },
  };

  async function untilEnded(asked: DeploymentRecord): Promise<DeploymentRecord> {
    const until = clock.now().getTime() + CANCEL_WAIT_SECONDS * 1000;
    let deployment = asked;
    while (!isTerminal(deployment.status) && clock.now().getTime() < until) {
      await stores.deployments.changed(deployment.id, NEVER);
      deployment = (await stores.deployments.find(deployment.uuid)) ?? deployment;
    }
    return deployment;
  }
}

const NEVER = new AbortController().signal;

async function findDeployment(stores: Stores, uuid: string): Promise<DeploymentRecord> {
  const deployment = await stores.deployments.find(uuid);
  if (deployment === undefined) throw notFound("Deployment");
  return deployment;
}

const notCancellable = ({ status }: DeploymentRecord) =>
  new DomainError("deployment.not_cancellable", `Deployment cannot be cancelled. Current status: ${status}`);

export interface FollowedEvent {
  /** Cursor of the last line: `after` of the next request after a lost connection. */
  readonly cursor: number;
  readonly event: DeploymentEvent;
}

async function* followEvents(
  scope: Scope,
  stores: Stores,
  uuid: string,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<FollowedEvent, void> {
  const isOpen = maySeeSecrets(scope);
  let cursor = after;
  let sent = "";
  while (!signal.aborted) {
    const progress = await stores.deployments.progress(uuid, { after: cursor, take: FOLLOW_LINES });
    if (progress === undefined) return;
    const { deployment, steps, lines } = progress;
    for (const line of lines) {
      cursor = line.seq;
      if (isOpen || !line.hidden) yield { cursor, event: { type: "line", line: logEntryView(line) } };
    }
    // The state follows the lines that were written before it.
    if (lines.length === FOLLOW_LINES) continue;
    const event = {
      type: "state" as const,
      deployment: deploymentView(deployment, undefined),
      steps: steps.map(stepView),
    };
    const state = stateOf(event);
    if (state !== sent) yield { cursor, event };
    sent = state;
    if (isTerminal(deployment.status)) return;
    await stores.deployments.changed(deployment.id, signal);
  }
}

/** The fields whose changes are reported to followers; renewals of the lease are not. */
const stateOf = ({ deployment: { status, commit, cancel_requested_at }, steps }: StateEvent): string =>
  JSON.stringify([status, commit, cancel_requested_at, steps]);

type StateEvent = Extract<DeploymentEvent, { type: "state" }>;
