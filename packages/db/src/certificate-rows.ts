import type { CertificateOwner, FoundCertificate } from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import { sql } from "kysely";
import { inTransaction, type StoreContext } from "./context.ts";
import { emitResourceEvent } from "./resource-row.ts";
import { storableJson } from "./storable.ts";

interface ChangedRow {
  readonly team_id: number;
  readonly uuid: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly host: string;
  readonly reason: string | null;
}

export async function owners(
  context: StoreContext,
  serverId: number,
  hosts: readonly string[],
): Promise<readonly CertificateOwner[]> {
  const { rows } = await sql<CertificateOwner>`
        select distinct on (resource.id, domain.host) resource.id as resource_id, domain.host,
          case when problem.host is not null then
            jsonb_build_object('reason', problem.reason, 'is_refused', problem.is_refused) end as recorded,
          exists (select from application_destination attached where attached.resource_id = resource.id) as is_on_several
        from unnest(${hosts}::text[]) as wanted (host)
        join domain on domain.host = wanted.host and ${IS_HTTPS}
        join resource on resource.id = domain.resource_id and resource.server_id = ${serverId}
          and resource.desired_state = 'running' and resource.removing_at is null
        left join certificate_problem problem on problem.resource_id = resource.id and problem.host = domain.host
        order by resource.id, domain.host`.execute(context.db);
  return rows;
}

/**
 * A URL with a problem stays until the transaction ends, and its deletion then finds the row: without the lock, it could
 * end before the row is there, which would remain for ever. A URL that is being deleted is skipped.
 */
export const record = (context: StoreContext, found: readonly FoundCertificate[]): Promise<void> =>
  inTransaction(context, async (tx) => {
    const wanted = found.map(({ resource_id, host, problem }) => ({ resource_id, host, ...problem }));
    const { rows } = await sql<ChangedRow>`
          with found as (
            select * from jsonb_to_recordset(${storableJson(wanted)}::jsonb)
              as found (resource_id bigint, host text, reason text, is_refused boolean)),
          routed as (
            select domain.resource_id, domain.host from found
            join domain on domain.resource_id = found.resource_id and domain.host = found.host and ${IS_HTTPS}
            where found.reason is not null for key share of domain skip locked),
          written as (
            insert into certificate_problem as problem (resource_id, host, reason, is_refused)
            select resource_id, host, reason, is_refused from found
            where (resource_id, host) in (select resource_id, host from routed)
            on conflict (resource_id, host) do update set reason = excluded.reason, is_refused = excluded.is_refused
              where (problem.reason, problem.is_refused) <> (excluded.reason, excluded.is_refused)
            returning resource_id, host, reason),
          removed as (
            delete from certificate_problem problem using found
            where problem.resource_id = found.resource_id and problem.host = found.host and found.reason is null
            returning problem.resource_id, problem.host, null::text as reason)
          select resource.team_id, resource.uuid, resource.kind, resource.name, changed.host, changed.reason
          from (select * from written union all select * from removed) as changed
          join resource on resource.id = changed.resource_id`.execute(tx.db);
    for (const { host, reason, ...resource } of rows) {
      emitResourceEvent(tx, resource, "resource.certificate_changed", { host, problem: reason });
    }
  });

const IS_HTTPS = sql<boolean>`(domain.pull_request_id = 0 and domain.url like 'https:%')`;
