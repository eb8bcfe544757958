import { DomainError } from "@berth/core";
import type { EnvironmentRecord, ResourceRecord } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceMove, type ResourceMoved, type ResourceRef } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { requireUnused } from "./attachment.ts";
import { findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { keepingReferences } from "./lost-references.ts";

/** Moves resources of any kind to other environments of the team. What runs continues. */
export function moves({ scope, stores }: UseCaseContext) {
  return {
    /**
     * @throws DomainError `resource.not_found`, `resource.state` if it is there already, or if its variables lose what
     * they reference, `resource.in_use` for a database that variables of other resources reference
     */
    async move(ref: ResourceRef, { environment_uuid, force = false }: ResourceMove): Promise<ResourceMoved> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const resource = await findResourceForUpdate(tx, ref);
        const target = await tx.environments.findByUuid(environment_uuid);
        if (target === undefined) throw noTarget();
        if (target.id === resource.environment_id) throw alreadyThere(resource, target);
        const change = () => tx.resources.move(resource.id, target.id);
        if (force) await change();
        else {
          if (ref.kind === "database") await requireUnused(tx, resource, "move");
          await keepingReferences(tx, resource, change, {
            place: `environment ${target.name}`,
            remedy: "Add it there or change the variables first, or move with force=true.",
          });
        }
        const { project_uuid } = target;
        await emitResourceEvent(tx, resource, "resource.moved", { project_uuid, environment: target.name });
        const message = `${RESOURCE_KINDS[ref.kind].title} moved successfully.`;
        return { message, uuid: ref.uuid, project_uuid, environment_uuid };
      });
    },
  };
}

const noTarget = () => new DomainError("resource.not_found", "Target environment not found or not owned by your team.");

const alreadyThere = ({ kind, name }: ResourceRecord, target: EnvironmentRecord) =>
  new DomainError("resource.state", `${RESOURCE_KINDS[kind].title} ${name} is in environment ${target.name} already.`);
