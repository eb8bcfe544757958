import { z } from "zod";
import { ApplicationDestination } from "../application/application-view.ts";
import { DomainConflict, splitUrls } from "../application/domain.ts";
import { STATUS_PROBLEM, shownServiceStatus } from "../deploy/shown-status.ts";
import type { ServiceContainerRecord, ServiceRecord } from "../ports/service.ts";
import { ENGINES } from "../server/server-settings.ts";
import { PlainTimestamp, plainTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import type { ServiceSecrets } from "./service.ts";
import { ServiceChanges } from "./service-change.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();
const integer = z.int();
const secretText = z.string().nullable().optional().describe("Absent without read:sensitive.");

const CONTAINER = {
  id: integer,
  uuid: text,
  name: text.describe("Its key in the compose file."),
  human_name: textOrNull,
  description: textOrNull,
  image: textOrNull,
  ports: textOrNull,
  exposes: textOrNull,
  status: text.describe("`state:health`, e.g. `running:healthy` or `exited`."),
  service_id: integer,
  exclude_from_status: flag.describe("Not counted in the status of the service."),
  is_log_drain_enabled: flag,
  is_include_timestamps: flag,
  is_gzip_enabled: flag,
  is_stripprefix_enabled: flag,
  is_migrated: flag,
  last_online_at: PlainTimestamp,
  created_at: Timestamp.nullable(),
  updated_at: Timestamp.nullable(),
  deleted_at: Timestamp.nullable(),
};

export const ServiceApplication = z
  .object({
    ...CONTAINER,
    fqdn: textOrNull.describe("Its URLs, separated by commas."),
    urls: z.array(text).describe("Its URLs for a browser, with the proxy's port unless it is the default one."),
    required_fqdn: flag,
  })
  .meta({ id: "ServiceApplication", description: "A container of a service that may have URLs." });
export type ServiceApplication = z.infer<typeof ServiceApplication>;

export const ServiceDatabase = z
  .object({
    ...CONTAINER,
    custom_type: textOrNull,
    is_public: flag,
    public_port: integer.nullable(),
    public_port_timeout: integer.nullable(),
  })
  .meta({ id: "ServiceDatabase", description: "A container of a service that is a database." });
export type ServiceDatabase = z.infer<typeof ServiceDatabase>;

export const Service = z
  .object({
    uuid: text,
    name: text,
    description: textOrNull,
    status: text.describe("`state:health` of its containers together, e.g. `running:healthy` or `exited`."),
    status_problem: textOrNull.describe(STATUS_PROBLEM),
    service_type: textOrNull.describe("Of a one-click service: the type of its template."),
    project_uuid: text,
    environment_id: integer,
    environment_uuid: text,
    environment_name: text,
    server_id: integer.nullable(),
    server_uuid: text,
    server_status: flag.describe("Its server is reachable and usable."),
    destination_type: textOrNull,
    destination_id: integer.nullable(),
    destination: ApplicationDestination,
    docker_compose_raw: secretText.describe("The compose file as it was sent. Absent without read:sensitive."),
    docker_compose: secretText.describe("The compose file as it is started. Absent without read:sensitive."),
    connect_to_docker_network: flag,
    is_container_label_escape_enabled: flag,
    compose_parsing_version: text,
    config_hash: textOrNull,
    applications: z.array(ServiceApplication),
    databases: z.array(ServiceDatabase),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    deleted_at: Timestamp.nullable(),
  })
  .meta({ id: "Service", description: "Containers that belong together, described by a compose file." });
export type Service = z.infer<typeof Service>;

export const SavedService = z
  .object({
    uuid: text,
    domains: z.array(text).describe("The URLs of its containers."),
    overridden: z
      .array(DomainConflict)
      .optional()
      .describe("With force_domain_override: the resources that lost a URL to it."),
    changes: ServiceChanges.optional().describe("With dry_run: what the change would change."),
  })
  .meta({ id: "SavedService", description: "A service that was created or changed." });
export type SavedService = z.infer<typeof SavedService>;

export interface ServiceViewOptions {
  readonly containers: readonly ServiceContainerRecord[];
  /** `undefined` for callers that may not read secrets. */
  readonly secrets: ServiceSecrets | undefined;
  /** Adds the port of the server's proxy to a URL. */
  readonly publicUrl: (url: string) => string;
}

export function serviceView(service: ServiceRecord, { containers, secrets, publicUrl }: ServiceViewOptions): Service {
  const { placement, settings } = service;
  const ofKind = (kind: ServiceContainerRecord["kind"]) => containers.filter((container) => container.kind === kind);
  return {
    uuid: service.uuid,
    name: service.name,
    description: service.description,
    status: shownServiceStatus(service),
    status_problem: service.status_problem,
    service_type: service.service_type,
    project_uuid: placement.project_uuid,
    environment_id: service.environment_id,
    environment_uuid: placement.environment_uuid,
    environment_name: placement.environment_name,
    server_id: service.server_id,
    server_uuid: placement.server_uuid,
    server_status: placement.is_server_functional,
    destination_type: ENGINES[placement.server_engine].destinationType,
    destination_id: service.destination_id,
    destination: {
      uuid: placement.destination_uuid,
      name: placement.destination_name,
      network: placement.destination_network,
      server: { uuid: placement.server_uuid, name: placement.server_name, ip: placement.server_ip },
    },
    ...(secrets === undefined ? {} : secrets),
    ...settings,
    compose_parsing_version: "5",
    config_hash: null,
    applications: ofKind("application").map((container) => applicationView(container, publicUrl)),
    databases: ofKind("database").map(databaseView),
    created_at: timestamp(service.created_at),
    updated_at: timestamp(service.updated_at),
    deleted_at: timestampOrNull(service.removing_at),
  };
}

const applicationView = (
  container: ServiceContainerRecord,
  publicUrl: ServiceViewOptions["publicUrl"],
): ServiceApplication => ({
  ...containerView(container),
  fqdn: container.fqdn,
  urls: splitUrls(container.fqdn).map(publicUrl),
  required_fqdn: false,
});

const databaseView = (container: ServiceContainerRecord): ServiceDatabase => ({
  ...containerView(container),
  custom_type: null,
  is_public: false,
  public_port: null,
  public_port_timeout: null,
});

const containerView = (container: ServiceContainerRecord) => ({
  id: container.id,
  uuid: container.uuid,
  name: container.name,
  human_name: container.human_name,
  description: container.description,
  image: container.image,
  ports: container.ports,
  exposes: container.exposes,
  status: container.status,
  service_id: container.resource_id,
  exclude_from_status: container.exclude_from_status,
  is_log_drain_enabled: false,
  is_include_timestamps: false,
  is_gzip_enabled: true,
  is_stripprefix_enabled: true,
  is_migrated: false,
  last_online_at: plainTimestamp(container.last_online_at ?? container.created_at),
  created_at: timestamp(container.created_at),
  updated_at: timestamp(container.updated_at),
  deleted_at: null,
});

/** URLs of a service, as in the answer of its creation. */
export const serviceUrls = (containers: readonly Pick<ServiceContainerRecord, "fqdn">[]): string[] =>
  containers.flatMap(({ fqdn }) => (fqdn === null ? [] : [fqdn])).sort();
