import type { ResourceKind } from "@berth/core/resource";
import { useQuery } from "@tanstack/react-query";
import { type Outputs, trpc } from "../api/client.ts";

/** A resource of any kind, as its page shows it. */
export interface ShownResource {
  readonly kind: ResourceKind;
  readonly uuid: string;
  readonly name: string;
  readonly description: string | null;
  readonly status: string;
  readonly status_problem: string | null;
  readonly urls: readonly string[];
  readonly project_uuid: string;
  readonly environment_uuid: string;
  readonly environment_name: string;
  readonly server_uuid: string;
  readonly application?: Outputs["applications"]["get"];
  readonly database?: Outputs["databases"]["get"];
  readonly service?: Outputs["services"]["get"];
}

const common = (
  kind: ResourceKind,
  found: Outputs["applications"]["get"] | Outputs["databases"]["get"] | Outputs["services"]["get"],
) => ({
  kind,
  uuid: found.uuid,
  name: found.name,
  description: found.description,
  status: found.status,
  status_problem: found.status_problem,
  project_uuid: found.project_uuid,
  environment_uuid: found.environment_uuid,
  environment_name: found.environment_name,
  server_uuid: found.server_uuid,
});

// Outside of the component: a query keeps its answer as long as these are the same.
const ofApplication = (found: Outputs["applications"]["get"]): ShownResource => ({
  ...common("application", found),
  urls: found.urls,
  application: found,
});
const ofDatabase = (found: Outputs["databases"]["get"]): ShownResource => ({
  ...common("database", found),
  urls: [],
  database: found,
});
const ofService = (found: Outputs["services"]["get"]): ShownResource => ({
  ...common("service", found),
  urls: found.applications.flatMap(({ urls }) => urls),
  service: found,
});

export function useResource(kind: ResourceKind, uuid: string) {
  const application = useQuery({
    ...trpc.applications.get.queryOptions({ uuid }),
    enabled: kind === "application",
    select: ofApplication,
  });
  const database = useQuery({
    ...trpc.databases.get.queryOptions({ uuid }),
    enabled: kind === "database",
    select: ofDatabase,
  });
  const service = useQuery({
    ...trpc.services.get.queryOptions({ uuid }),
    enabled: kind === "service",
    select: ofService,
  });
  return { application, database, service }[kind];
}

/** Names of a service's containers; empty for resources with a single container. */
export const containersOf = ({ service }: ShownResource): readonly string[] =>
  service === undefined ? [] : [...service.applications, ...service.databases].map(({ name }) => name);
