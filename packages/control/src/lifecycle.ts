import { DomainError, notFound } from "@berth/core";
import { isRunning, isStopped, type ResourceDelete, type ResourceStop, removalFlags } from "@berth/core/deploy";
import type { ResourceRecord, Stores } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceKind, type ResourceRef } from "@berth/core/resource";
import type { JobStarted } from "@berth/core/server";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import { serversOf } from "./application-server.ts";
import { requireLeader } from "./application-support.ts";
import { requireUnused } from "./attachment.ts";
import { findResource, type UseCaseContext } from "./context.ts";
import { renewCertificateOf } from "./database-certificate.ts";
import { applicationRequest, DUPLICATE_MESSAGE, requestDeployment } from "./deployment-request.ts";
import { emitResourceEvent } from "./event.ts";
import { requestJob } from "./job.ts";
import { requestRemoval } from "./removal.ts";

export interface StartOptions {
  /** Builds the newest source without cache, and even if it is already running. */
  readonly force?: boolean | undefined;
  readonly instant_deploy?: boolean | undefined;
  /** Of a service: leaves containers running that have not changed, even if none has. */
  readonly keepsUnchanged?: boolean | undefined;
}

interface ForcedDelete extends ResourceDelete {
  /** Also deletes a database that is in use. */
  readonly force?: boolean | undefined;
}

export interface DeploymentStarted {
  readonly message: string;
  readonly deployment_uuid: string;
}

/** The part of starting that differs between kinds. */
interface Starter {
  start(tx: Stores, resource: ResourceRecord, options: StartOptions): Promise<DeploymentStarted>;
  restart(tx: Stores, resource: ResourceRecord): Promise<DeploymentStarted>;
}

/** Starts, stops and deletes resources of any kind. */
export function lifecycle(context: UseCaseContext) {
  const { scope, stores } = context;
  const starters: Readonly<Record<ResourceKind, Starter>> = {
    application: applicationStarter(context),
    service: recordStarter(context),
    database: recordStarter(context),
  };

  return {
    /** @throws DomainError `resource.already_running`, `queue.full`, `engine.unsupported`, `cluster.no_leader` */
    async start(ref: ResourceRef, options: StartOptions = {}): Promise<DeploymentStarted> {
      requireAbility(scope, "deploy");
      await requireLeaders(context, ref);
      return stores.transaction(async (tx) => {
        const resource = await findResource(tx, ref);
        // A resource that is being stopped may be started again.
        const runs = isRunning(resource.status) && resource.desired_state === "running";
        if (runs && !options.force) throw stateError("resource.already_running", resource);
        return starters[ref.kind].start(tx, resource, options);
      });
    },

    /** @throws DomainError `queue.full`, `engine.unsupported`, `cluster.no_leader` */
    async restart(ref: ResourceRef): Promise<DeploymentStarted> {
      requireAbility(scope, "deploy");
      await requireLeaders(context, ref);
      return stores.transaction(async (tx) => starters[ref.kind].restart(tx, await findResource(tx, ref)));
    },

    /** The worker stops it. @throws DomainError `resource.already_stopped`, `cluster.no_leader` */
    async stop(ref: ResourceRef, { docker_cleanup = true }: ResourceStop = {}): Promise<{ message: string }> {
      requireAbility(scope, "deploy");
      await requireLeaders(context, ref);
      await stores.transaction(async (tx) => {
        const resource = await findResource(tx, ref);
        // A resource that has crashed, or waits for its deployment, may be stopped too; it then stays stopped.
        const isDown = isStopped(resource.status) && resource.desired_state === "stopped";
        if (isDown) throw stateError("resource.already_stopped", resource);
        await tx.resources.setDesiredState(resource.id, "stopped");
        await emitResourceEvent(tx, resource, "resource.stop_requested");
        if (docker_cleanup) await requestCleanup(context, tx, resource);
      });
      return { message: `${RESOURCE_KINDS[ref.kind].title} stopping request queued.` };
    },

    /**
     * Marks the resource; the worker removes it within seconds. Idempotent.
     * @throws DomainError `resource.in_use` for a database that variables of other resources reference
     */
    async delete(ref: ResourceRef, { force = false, ...asked }: ForcedDelete): Promise<JobStarted> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      const job = await stores.transaction(async (tx) => {
        const resource = await findResource(tx, ref);
        if (ref.kind === "database" && !force && resource.removing_at === null)
          await requireUnused(tx, resource, "delete");
        return requestRemoval(context, tx, resource, removalFlags(asked));
      });
      return { message: `${RESOURCE_KINDS[ref.kind].title} deletion request queued.`, job_uuid: job.uuid };
    },
  };
}

/**
 * Asked before anything is recorded, since it may take seconds.
 * @throws DomainError `cluster.no_leader`
 */
async function requireLeaders(context: UseCaseContext, ref: ResourceRef): Promise<void> {
  const resource = await findResource(context.stores, ref);
  for (const server of await serversOf(context.stores, resource)) await requireLeader(context, server);
}

/**
 * Cleans up the resource's server. Objects that a stopped resource needs for its next start are recorded and kept, so
 * the order of stop and cleanup does not matter.
 */
async function requestCleanup(context: UseCaseContext, tx: Stores, { server_id }: ResourceRecord): Promise<void> {
  const server = await tx.servers.findById(server_id);
  if (server === undefined || server.removing_at !== null || context.hasCleanup?.(server) !== true) return;
  await requestJob(context, tx, "server.cleanup", { ...server, type: "server" });
}

/** @throws DomainError `engine.unsupported` if the server's engine cannot run resources of this kind. */
export async function requireEngineFor(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  tx: Stores,
  { kind, server_id }: Pick<ResourceRecord, "kind" | "server_id">,
): Promise<void> {
  const server = await tx.servers.findById(server_id);
  if (server === undefined) throw notFound("Server");
  const engine = await engineFor(server);
  if (engine.capabilities.kinds.includes(kind)) return;
  const { plural, title } = RESOURCE_KINDS[kind];
  const sentence = `Server ${server.name} has no Docker (its engine is ${engine.kind}), and ${plural} run on servers with Docker only. ${title}s can be recorded and changed there; to run one, make it on another of GET /servers.`;
  throw new DomainError("engine.unsupported", sentence, { fields: { server_uuid: [sentence] } });
}

/** For kinds that need no build: each start uses the current record. */
export function recordStarter(context: UseCaseContext): Starter {
  async function begin(
    tx: Stores,
    resource: ResourceRecord,
    doing: "starting" | "restarting",
    { force, keepsUnchanged }: StartOptions,
  ): Promise<DeploymentStarted> {
    await requireEngineFor(context, tx, resource);
    await renewCertificateOf(context, tx, resource);
    const { deployment } = await requestDeployment(context, tx, { resource, isForced: force, keepsUnchanged });
    await emitResourceEvent(tx, resource, `resource.${doing === "starting" ? "start" : "restart"}_requested`);
    const message = `${RESOURCE_KINDS[resource.kind].title} ${doing} request queued.`;
    return { message, deployment_uuid: deployment.uuid };
  }
  return {
    start: (tx, resource, options) => begin(tx, resource, "starting", options),
    restart: (tx, resource) => begin(tx, resource, "restarting", {}),
  };
}

function applicationStarter(context: UseCaseContext): Starter {
  const find = async (tx: Stores, { uuid }: ResourceRecord) => {
    const application = await tx.applications.find(uuid);
    if (application === undefined) throw notFound("Application");
    return application;
  };
  const answer = (message: string, { deployment, isDuplicate }: Awaited<ReturnType<typeof requestDeployment>>) => ({
    message: isDuplicate ? DUPLICATE_MESSAGE : message,
    deployment_uuid: deployment.uuid,
  });
  return {
    async start(tx, resource, { force, instant_deploy }) {
      const application = await find(tx, resource);
      // Somebody chose the older build, so the newest source would undo that.
      const isRestart = force !== true && "after_rollback";
      const request = applicationRequest(application, { isForced: force, isInstant: instant_deploy, isRestart });
      return answer("Deployment request queued.", await requestDeployment(context, tx, request));
    },
    async restart(tx, resource) {
      const application = await find(tx, resource);
      return answer(
        "Restart request queued.",
        await requestDeployment(context, tx, applicationRequest(application, { isRestart: true })),
      );
    },
  };
}

function stateError(code: "resource.already_running" | "resource.already_stopped", { kind }: ResourceRecord) {
  const state = code === "resource.already_running" ? "running" : "stopped";
  return new DomainError(code, `${RESOURCE_KINDS[kind].title} is already ${state}.`);
}
