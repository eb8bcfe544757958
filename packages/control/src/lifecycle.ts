import {
  type ApplicationDelete,
  DomainError,
  isRunning,
  isStopped,
  notFound,
  RESOURCE_KINDS,
  type ResourceKind,
  type ResourceRecord,
  type ResourceRef,
  requireAbility,
  type Stores,
} from "@berth/core";
import { findResource, type UseCaseContext } from "./context.ts";
import { DUPLICATE_MESSAGE, requestDeployment } from "./deployment-request.ts";
import { tellOfResource } from "./event.ts";

export interface StartOptions {
  /** Build afresh, and also when it runs already. */
  readonly force?: boolean | undefined;
  readonly instant_deploy?: boolean | undefined;
}

export interface Started {
  readonly message: string;
  readonly deployment_uuid: string;
}

/** How a kind is started: what the kinds do not share. */
interface Starter {
  start(inside: Stores, resource: ResourceRecord, options: StartOptions): Promise<Started>;
  restart(inside: Stores, resource: ResourceRecord): Promise<Started>;
}

/** Kinds that can be started so far. */
export type StartableKind = Extract<ResourceKind, "application">;
type StartableRef = ResourceRef & { readonly kind: StartableKind };

/** Starting, stopping and removing a resource of any kind. */
export function lifecycle(context: UseCaseContext) {
  const { scope, stores } = context;
  const starters: Record<StartableKind, Starter> = { application: applicationStarter(context) };

  return {
    /** @throws DomainError `resource.already_running`, `queue.full` */
    async start(ref: StartableRef, options: StartOptions): Promise<Started> {
      requireAbility(scope, "deploy");
      return stores.transaction(async (inside) => {
        const resource = await findResource(inside, ref);
        // One that is just being stopped may be started again.
        const runs = isRunning(resource.status) && resource.desired_state === "running";
        if (runs && !options.force) throw stateError("resource.already_running", resource);
        return starters[ref.kind].start(inside, resource, options);
      });
    },

    /** @throws DomainError `queue.full` */
    async restart(ref: StartableRef): Promise<Started> {
      requireAbility(scope, "deploy");
      return stores.transaction(async (inside) => starters[ref.kind].restart(inside, await findResource(inside, ref)));
    },

    /** The worker stops it. @throws DomainError `resource.already_stopped` */
    async stop(ref: ResourceRef): Promise<{ message: string }> {
      requireAbility(scope, "deploy");
      await stores.transaction(async (inside) => {
        const resource = await findResource(inside, ref);
        // One that has crashed, or waits for its deployment, may be stopped: it then stays so.
        const isDown = isStopped(resource.status) && resource.desired_state === "stopped";
        if (isDown) throw stateError("resource.already_stopped", resource);
        await inside.resources.setDesiredState(resource.id, "stopped");
        await tellOfResource(inside, resource, "resource.stop_requested");
      });
      return { message: `${RESOURCE_KINDS[ref.kind].title} stopping request queued.` };
    },

    /** Marks it; the worker removes it within seconds. Asking again changes nothing. */
    async delete(ref: ResourceRef, { delete_volumes = true }: ApplicationDelete): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (inside) => {
        const resource = await findResource(inside, ref);
        if (!(await inside.resources.markRemoving(resource.id, { delete_volumes }))) return;
        await cancelDeployments(inside, resource);
      });
      return { message: `${RESOURCE_KINDS[ref.kind].title} deletion request queued.` };
    },
  };
}

async function cancelDeployments(inside: Stores, resource: ResourceRecord): Promise<void> {
  const { items } = await inside.deployments.listActive();
  for (const { uuid, resource_id } of items) {
    if (resource_id === resource.id) await inside.deployments.requestCancel(uuid);
  }
}

function applicationStarter(context: UseCaseContext): Starter {
  const find = async (inside: Stores, { uuid }: ResourceRecord) => {
    const application = await inside.applications.find(uuid);
    if (application === undefined) throw notFound("Application");
    return application;
  };
  const answer = (message: string, { deployment, isDuplicate }: Awaited<ReturnType<typeof requestDeployment>>) => ({
    message: isDuplicate ? DUPLICATE_MESSAGE : message,
    deployment_uuid: deployment.uuid,
  });
  return {
    async start(inside, resource, { force, instant_deploy }) {
      const application = await find(inside, resource);
      const wish = { application, isForced: force, isInstant: instant_deploy };
      return answer("Deployment request queued.", await requestDeployment(context, inside, wish));
    },
    async restart(inside, resource) {
      const application = await find(inside, resource);
      return answer(
        "Restart request queued.",
        await requestDeployment(context, inside, { application, isRestart: true }),
      );
    },
  };
}

function stateError(code: "resource.already_running" | "resource.already_stopped", { kind }: ResourceRecord) {
  const state = code === "resource.already_running" ? "running" : "stopped";
  return new DomainError(code, `${RESOURCE_KINDS[kind].title} is already ${state}.`);
}
