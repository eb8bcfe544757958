import { DomainError } from "@berth/core";
import { referencesIn, referenceText } from "@berth/core/env";
import type { EnvironmentRecord, EnvRecord, ResourceRecord, Stores } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceMove, type ResourceMoved, type ResourceRef } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { requireUnused } from "./attachment.ts";
import { findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";

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
        if (ref.kind === "database" && !force) await requireUnused(tx, resource, "move");
        const { items } = await tx.envs.list(resource.id);
        const before = await resolvedBy(tx, resource, items);
        await tx.resources.move(resource.id, target.id);
        const after = await resolvedBy(tx, resource, items);
        const lost = items.filter(({ value }) => hasLost(value, before, after));
        if (lost.length > 0 && !force) throw losing(resource, target, lost);
        const { project_uuid } = target;
        await emitResourceEvent(tx, resource, "resource.moved", { project_uuid, environment: target.name });
        const message = `${RESOURCE_KINDS[ref.kind].title} moved successfully.`;
        return { message, uuid: ref.uuid, project_uuid, environment_uuid };
      });
    },
  };
}

/** The references of these variables that have a target where the resource is now, as text. */
async function resolvedBy(
  tx: Stores,
  { id }: ResourceRecord,
  variables: readonly EnvRecord[],
): Promise<ReadonlySet<string>> {
  const references = referencesIn(variables.map(({ value }) => value));
  return new Set((await tx.sharedVariables.seenBy([id], references)).map(referenceText));
}

const hasLost = (value: string | null, before: ReadonlySet<string>, after: ReadonlySet<string>): boolean =>
  referencesIn([value]).some((reference) => {
    const text = referenceText(reference);
    return before.has(text) && !after.has(text);
  });

const noTarget = () => new DomainError("resource.not_found", "Target environment not found or not owned by your team.");

const alreadyThere = ({ kind, name }: ResourceRecord, target: EnvironmentRecord) =>
  new DomainError("resource.state", `${RESOURCE_KINDS[kind].title} ${name} is in environment ${target.name} already.`);

function losing({ name }: ResourceRecord, target: EnvironmentRecord, lost: readonly EnvRecord[]): DomainError {
  const keys = [...new Set(lost.map(({ key }) => key))];
  const sentence = `Variables of ${name} reference what environment ${target.name} does not have: ${keys.join(", ")}. Add it there or change the variables first, or move with force=true.`;
  return new DomainError("resource.state", sentence, { details: { variables: keys } });
}
