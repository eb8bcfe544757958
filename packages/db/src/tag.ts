import { notFound } from "@berth/core";
import type { TagStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { TeamContext } from "./context.ts";
import { countRows, page, within } from "./page.ts";
import { RESOURCE_COLUMNS } from "./resource-row.ts";

const COLUMNS = ["tag.id", "tag.uuid", "tag.name", "tag.created_at", "tag.updated_at"] as const;

export function tagStore({ db, teamId }: TeamContext): TagStore {
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const ofTeam = () => db.selectFrom("tag").where("tag.team_id", "=", teamId);
  // An unused tag is kept if a request is assigning it at this moment.
  const used = () =>
    ofTeam().where(({ exists, selectFrom }) =>
      exists(selectFrom("resource_tag").select("tag_id").whereRef("resource_tag.tag_id", "=", "tag.id")),
    );
  const ofResource = (resourceId: number) =>
    ofTeam().where(
      "tag.id",
      "in",
      db.selectFrom("resource_tag").select("tag_id").where("resource_id", "in", ownResource(resourceId)),
    );
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => within(used().select(COLUMNS).orderBy("tag.name"), window).execute(),
        () => countRows(used()),
      ),
    listByResource: (resourceId, paging = {}) =>
      page(
        paging,
        (window) => within(ofResource(resourceId).select(COLUMNS).orderBy("tag.name"), window).execute(),
        () => countRows(ofResource(resourceId)),
      ),
    resources: (name) =>
      db
        .selectFrom("tag")
        .innerJoin("resource_tag", "resource_tag.tag_id", "tag.id")
        .innerJoin("resource", "resource.id", "resource_tag.resource_id")
        .select(RESOURCE_COLUMNS)
        .where("tag.team_id", "=", teamId)
        .where("resource.team_id", "=", teamId)
        .where("tag.name", "=", name)
        .orderBy("resource.id")
        .execute(),
    async attach(resourceId, tags) {
      const owner = await ownResource(resourceId).executeTakeFirst();
      if (owner === undefined) throw notFound("Resource");
      // In a fixed order, so that two requests that create the same tags cannot deadlock.
      const sorted = [...tags].sort((a, b) => (a.name < b.name ? -1 : 1));
      if (sorted.length === 0) return;
      await db
        .insertInto("tag")
        .values(sorted.map(({ uuid, name }) => ({ uuid, name, team_id: teamId })))
        .onConflict((conflict) => conflict.constraint("tag_name").doNothing())
        .execute();
      const names = sorted.map(({ name }) => name);
      await db
        .insertInto("resource_tag")
        .columns(["tag_id", "resource_id"])
        .expression((eb) =>
          eb
            .selectFrom("tag")
            .innerJoin("resource", (join) => join.on("resource.id", "=", owner.id))
            .where("tag.team_id", "=", teamId)
            .where(sql<boolean>`tag.name = any(${names}::text[])`)
            .select(["tag.id", "resource.id as resource_id"]),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async detach(resourceId, uuid) {
      const deleted = await db
        .deleteFrom("resource_tag")
        .where("resource_id", "in", ownResource(resourceId))
        .where("tag_id", "in", ofTeam().select("tag.id").where("tag.uuid", "=", uuid))
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
  };
}
