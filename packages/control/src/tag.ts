import { notFound } from "@berth/core";
import type { Page, Paging } from "@berth/core/ports";
import { type ResourceRef, type Tag, type TagAttach, tagNames, tagView } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { findResource, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { mapPage } from "./page.ts";

/** Tags, by which resources of any kind are found and deployed together. */
export function tags({ scope, stores, ids }: UseCaseContext) {
  return {
    /** Tags that resources of the team have. */
    async list(paging: Paging): Promise<Page<Tag>> {
      requireAbility(scope, "read");
      return mapPage(await stores.tags.list(paging), tagView);
    },

    async listOf(ref: ResourceRef, paging: Paging): Promise<Page<Tag>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      return mapPage(await stores.tags.listByResource(owner.id, paging), tagView);
    },

    /** Returns all tags of the resource. Idempotent. */
    async attach(ref: ResourceRef, sent: TagAttach): Promise<readonly Tag[]> {
      requireAbility(scope, "write");
      const names = tagNames(sent);
      return stores.transaction(async (tx) => {
        const owner = await findResource(tx, ref);
        await tx.tags.attach(
          owner.id,
          names.map((name) => ({ uuid: ids.uuid(), name })),
        );
        await emitResourceEvent(tx, owner, "resource.tags_changed", { attached: names });
        return (await tx.tags.listByResource(owner.id)).items.map(tagView);
      });
    },

    async detach(ref: ResourceRef, tagUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const owner = await findResource(tx, ref);
        if (!(await tx.tags.detach(owner.id, tagUuid))) throw notFound("Tag");
        await emitResourceEvent(tx, owner, "resource.tags_changed", { detached: tagUuid });
      });
      return { message: "Tag removed." };
    },
  };
}
