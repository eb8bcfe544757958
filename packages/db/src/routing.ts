import type { LiveKey } from "@berth/core/deploy";
import type { ApplicationDestinationRecord, DomainClaim, Routing } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { destinationOn } from "./application-destination.ts";

/** URLs of a row of `resource`, or of one of its previews. */
export const domainsOf = (pullRequestId: number) => sql<readonly DomainClaim[]>`coalesce((
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('host', host, 'path', path, 'url', url,
    'container', coalesce(service_container.name, domain.container), 'container_port', service_container.port))
    order by domain.position)
  from domain left join service_container on service_container.id = domain.service_container_id
  where domain.resource_id = resource.id and domain.pull_request_id = ${pullRequestId}), '[]')`;

/** One resource or preview, on one server. Default: the server that is recorded with it. */
export type RoutingKey = Pick<LiveKey, "resource_id" | "pull_request_id"> & Partial<Pick<LiveKey, "server_id">>;

/** One value, like the placement of a resource. */
export const routingOf = ({
  server_id,
  pull_request_id,
}: RoutingKey): RawBuilder<
  Omit<Routing, "subject"> & { readonly here: ApplicationDestinationRecord | null }
> => sql`jsonb_build_object(
  'here', ${destinationOn(server_id ?? null)},
  'domains', case when ${pull_request_id}::int = 0 or exists (select from application_preview preview
    where preview.resource_id = resource.id and preview.pull_request_id = ${pull_request_id}
      and preview.removing_at is null) then ${domainsOf(pull_request_id)} end,
  'live', (select jsonb_build_object('deployment_uuid', release.deployment_uuid, 'upstream', release.upstream)
    from release where release.resource_id = resource.id
      and release.server_id = coalesce(${server_id ?? null}::bigint, resource.server_id)
      and release.pull_request_id = ${pull_request_id} and release.role = 'live'),
  'is_live_elsewhere', exists (select from release where release.resource_id = resource.id
    and release.server_id <> coalesce(${server_id ?? null}::bigint, resource.server_id)
    and release.pull_request_id = ${pull_request_id} and release.role = 'live'))`;
