import { DomainError, notFound } from "@berth/core";
import { domainConflictError, domainConflicts } from "@berth/core/application";
import type { ClaimHolder, DomainHolder, DomainStore } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { idsOf, inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { violates } from "./errors.ts";

type Claims = Parameters<DomainStore["claim"]>[1];

export function domainStore(context: TeamContext): DomainStore {
  return {
    holders: (claims, except) => holders(context, claims, except === undefined ? undefined : holderOf(except)),
    claim: (claimant, claims, { takeFromOwnTeam }) =>
      inTransaction(context, async (tx) => {
        const holder = holderOf(claimant);
        await lockResource(tx, holder.resourceId);
        await lockHosts(tx, claims);
        const overridden = await holders(tx, claims, holder);
        const conflicts = domainConflicts({ claims, holders: overridden, teamId: tx.teamId, instanceUrl: null });
        const refusal = domainConflictError(conflicts, takeFromOwnTeam);
        if (refusal !== undefined) throw refusal;
        await sql`delete from domain where ${isHeldBy(holder)}`.execute(tx.db);
        await take(tx, overridden);
        await hold(tx, holder, claims);
        await writeFqdn(tx, [holder.resourceId]);
        return { overridden };
      }),
  };
}

const holderOf = (holder: number | ClaimHolder): ClaimHolder =>
  typeof holder === "number" ? { resourceId: holder, pullRequestId: 0 } : holder;

async function holders(
  { db, teamId }: TeamContext,
  claims: Claims,
  except: ClaimHolder | undefined,
): Promise<readonly DomainHolder[]> {
  if (claims.length === 0) return [];
  const { rows } = await sql<DomainHolder>`
    select domain.host, domain.path, domain.url, resource.team_id, resource.uuid as resource_uuid,
      resource.name as resource_name, resource.kind as resource_kind, domain.pull_request_id,
      coalesce((select name from service_container where id = domain.service_container_id), domain.container)
        as container_name
    from unnest(${hostsOf(claims)}::text[]) as wanted (host) join domain on domain.host = wanted.host
    join resource on resource.id = domain.resource_id
    where ${except === undefined ? sql`true` : sql`not ${isHeldBy(except)}`}
    and (
      resource.team_id <> ${teamId}
      or (domain.host, domain.path) in (select claim.host, claim.path from ${hostsAndPaths(claims)})
    )
    order by domain.resource_id, domain.position`.execute(db);
  return rows;
}

const isHeldBy = ({ resourceId, pullRequestId, containerIds }: ClaimHolder) => {
  const isResource = sql<boolean>`(domain.resource_id, domain.pull_request_id)
    = (${resourceId}::bigint, ${pullRequestId}::bigint)`;
  if (containerIds === undefined) return sql<boolean>`(${isResource})`;
  return sql<boolean>`(${isResource} and coalesce(domain.service_container_id = any(${containerIds}::bigint[]), false))`;
};

/** Serialises claims of one resource. */
async function lockResource({ db, teamId }: TeamContext, resourceId: number): Promise<void> {
  const locked = await db
    .selectFrom("resource")
    .select("id")
    .where("id", "=", resourceId)
    .where("team_id", "=", teamId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (locked === undefined) throw notFound("Resource");
}

/**
 * Serialises claims of the same hosts, locked in a fixed order, so that each sees the result of the one before. The
 * unique index guarantees one holder of a host and path; only this lock guarantees that a host belongs to one team.
 */
async function lockHosts({ db }: StoreContext, claims: Claims): Promise<void> {
  if (claims.length === 0) return;
  await sql`select pg_advisory_xact_lock(key) from (
    select distinct hashtextextended('domain ' || wanted.host, 0) as key
    from unnest(${hostsOf(claims)}::text[]) as wanted (host) order by key) as keys`.execute(db);
}

async function take(context: TeamContext, others: readonly DomainHolder[]): Promise<void> {
  if (others.length === 0) return;
  const { rows } = await sql<{ resource_id: number }>`
    delete from domain using ${hostsAndPaths(others)}
    where domain.host = claim.host and domain.path = claim.path
    returning domain.resource_id`.execute(context.db);
  await writeFqdn(context, [...new Set(rows.map(({ resource_id }) => resource_id))]);
}

async function hold({ db }: StoreContext, { resourceId, pullRequestId }: ClaimHolder, claims: Claims): Promise<void> {
  if (claims.length === 0) return;
  try {
    await sql`
      insert into domain (resource_id, pull_request_id, service_container_id, container, host, path, url, position)
      select distinct on (claim.host, claim.path)
        ${resourceId}::bigint, ${pullRequestId}::bigint,
        (select id from service_container where id = claim.container and service_container.resource_id = ${resourceId}),
        claim.name, claim.host, claim.path, claim.url, claim.position
      from jsonb_to_recordset(${asRows(claims)}::jsonb)
        as claim (container bigint, name text, host text, path text, url text, position integer)
      order by claim.host, claim.path, claim.position`.execute(db);
  } catch (error) {
    if (!violates(error, "domain_holder")) throw error;
    throw new DomainError("domain.conflict", "Another resource has just claimed a domain. Try again.", {
      cause: error,
    });
  }
}

const hostsOf = (claims: Claims): readonly string[] => [...new Set(claims.map(({ host }) => host))];

// PostgreSQL knows the length of an array, and so uses the index for short ones.
const hostsAndPaths = (claims: Claims) =>
  sql`unnest(${claims.map(({ host }) => host)}::text[], ${claims.map(({ path }) => path)}::text[]) as claim (host, path)`;

const asRows = (claims: Claims): string =>
  JSON.stringify(
    claims.map(({ service_container_id, container, host, path, url }, position) => {
      // A service's container has its own name, which may change later.
      const name = service_container_id ? null : (container ?? null);
      return { container: service_container_id ?? null, name, host, path, url, position };
    }),
  );

/** Frees the URLs of these resources and their previews for other holders. */
export async function freeDomains(context: StoreContext, resourceIds: readonly number[]): Promise<void> {
  await sql`delete from domain where resource_id in ${idsOf(resourceIds)}`.execute(context.db);
  await writeFqdn(context, resourceIds);
}

/** Updates the text columns with URLs, which answers show without a join. */
async function writeFqdn({ db }: StoreContext, resourceIds: readonly number[]): Promise<void> {
  const urls = (pullRequestId: RawBuilder<number>) => sql`(select string_agg(url, ',' order by position) from domain
    where domain.resource_id = holder.resource_id and domain.pull_request_id = ${pullRequestId})`;
  await sql`update application as holder set fqdn = ${urls(sql.lit(0))}
    where resource_id in ${idsOf(resourceIds)}`.execute(db);
  await sql`update application_preview as holder set fqdn = ${urls(sql.ref("holder.pull_request_id"))}
    where resource_id in ${idsOf(resourceIds)}`.execute(db);
  await sql`update service_container set fqdn =
      (select string_agg(url, ',' order by position) from domain where service_container_id = service_container.id)
    where resource_id in ${idsOf(resourceIds)}`.execute(db);
}
