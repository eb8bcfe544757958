import type { ResourceChanges, SystemResourceStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";
import { isActive } from "./deployment-row.ts";

interface Row {
  readonly position: string;
  /** `null` in the one row of an answer without changes. */
  readonly server_id: number | null;
  readonly resource_id: number;
  readonly key: string;
  readonly active: ResourceChanges["active"];
  readonly drills: ResourceChanges["drills"];
}

/** Reads the changes that triggers record of resources and their children. */
export function resourceChanges({ db }: StoreContext): Pick<SystemResourceStore, "changes" | "pruneChanges"> {
  return {
    async changes(since) {
      const serverIds = [...since.keys()];
      const positions = [...since.values()].map((position) => position ?? null);
      // Left out if not needed: PostgreSQL might read all resources to find none.
      const whole = positions.includes(null)
        ? sql`union all select resource.server_id, resource.id, ''
            from wanted join resource on resource.server_id = wanted.server_id where wanted.since is null
            union all select release.server_id, release.resource_id, ''
            from wanted join release on release.server_id = wanted.server_id
              join resource on resource.id = release.resource_id and resource.server_id <> release.server_id
            where wanted.since is null
            union all select attached.server_id, attached.resource_id, ''
            from wanted join application_destination attached on attached.server_id = wanted.server_id
            where wanted.since is null`
        : sql``;
      // One statement sees one snapshot: what it cannot see yet has a transaction id of `position` or above.
      const { rows } = await sql<Row>`
        with wanted as (select * from unnest(${serverIds}::bigint[], ${positions}::text[]) as wanted (server_id, since)),
        found as (
          select change.server_id, change.resource_id, change.xid::text || ' ' || change.resource_id as key
          from wanted join resource_change as change on change.server_id = wanted.server_id
            and change.xid >= coalesce(wanted.since::xid8, pg_snapshot_xmin(pg_current_snapshot()))
          ${whole})
        select pg_snapshot_xmin(pg_current_snapshot())::text as position, found.*,
          coalesce((select jsonb_agg(jsonb_build_object('id', id, 'uuid', uuid, 'server_id', server_id,
              'resource_id', resource_id, 'pull_request_id', pull_request_id, 'status', status) order by id)
            from deployment where server_id = any(${serverIds}::bigint[]) and ${isActive}), '[]') as active,
          coalesce((select jsonb_agg(uuid) from backup_restore where status = 'running' and kind = 'drill'), '[]')
            as drills
        from (select) as one left join found on true`.execute(db);
      const changes = rows.flatMap(({ server_id, resource_id, key }) =>
        server_id === null ? [] : [{ server_id, resource_id, key }],
      );
      const { position = "0", active = [], drills = [] } = rows[0] ?? {};
      return { position, active, drills, changes };
    },
    async pruneChanges(keptSeconds) {
      const { numDeletedRows } = await db
        .deleteFrom("resource_change")
        .where("at", "<", sql<Date>`now() - ${keptSeconds}::int * interval '1 second'`)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}
