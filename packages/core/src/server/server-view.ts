import { z } from "zod";
import { databaseType } from "../database/database.ts";
import { STATUS_PROBLEM, shownServiceStatus, shownStatus } from "../deploy/shown-status.ts";
import type { ListedResource, ServerRecord } from "../ports/records.ts";
import type { ResourceKind } from "../resource/resource.ts";
import { cronOf } from "../schedule/cron.ts";
import { PlainTimestamp, plainTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { isOwnMachine } from "./server.ts";
import { shownProxyStatus } from "./server-proxy.ts";
import { ENGINES, type EngineKind, type ServerSettings } from "./server-settings.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();
const integer = z.int();
const secretText = z.string().nullable().optional().describe("Absent without read:sensitive.");

export const ServerSetting = z
  .object({
    id: integer,
    server_id: integer,
    concurrent_builds: integer.describe("Deployments in progress at once."),
    deployment_queue_limit: integer.describe("Deployments that may wait; more are refused with 429."),
    dynamic_timeout: integer.describe("Seconds a deployment may take."),
    connection_timeout: integer.describe("Seconds to wait for the server."),
    is_swarm_manager: flag.describe("Its Docker engine manages a Docker Swarm, as its last validation found."),
    is_swarm_worker: flag.describe(
      "Its Docker engine is a worker node of a Docker Swarm, as its last validation found.",
    ),
    is_jump_server: flag,
    is_build_server: flag,
    is_reachable: flag,
    is_usable: flag,
    wildcard_domain: textOrNull.describe("URL that generated domains are placed below."),
    is_cloudflare_tunnel: flag,
    is_logdrain_newrelic_enabled: flag,
    logdrain_newrelic_license_key: secretText,
    logdrain_newrelic_base_uri: textOrNull,
    is_logdrain_highlight_enabled: flag,
    logdrain_highlight_project_id: textOrNull,
    is_logdrain_axiom_enabled: flag,
    logdrain_axiom_dataset_name: textOrNull,
    logdrain_axiom_api_key: secretText,
    is_logdrain_custom_enabled: flag,
    logdrain_custom_config: secretText,
    logdrain_custom_config_parser: secretText,
    force_disabled: flag,
    is_metrics_enabled: flag,
    generate_exact_labels: flag,
    force_docker_cleanup: flag,
    docker_cleanup_frequency: text,
    docker_cleanup_threshold: integer,
    delete_unused_volumes: flag,
    delete_unused_networks: flag,
    server_timezone: text,
    is_sentinel_enabled: flag,
    is_sentinel_debug_enabled: flag,
    sentinel_token: secretText,
    sentinel_metrics_refresh_rate_seconds: integer,
    sentinel_metrics_history_days: integer,
    sentinel_push_interval_seconds: integer,
    sentinel_custom_url: secretText,
    server_disk_usage_notification_threshold: integer,
    server_disk_usage_check_frequency: text,
    is_terminal_enabled: flag,
    disable_application_image_retention: flag,
    force_server_cleanup: flag.nullable(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "ServerSetting", description: "Settings of a server." });

export const ServerProxy = z
  .object({
    type: text.describe("In upper case, e.g. CADDY."),
    status: text,
    redirect_enabled: flag,
  })
  .meta({ id: "ServerProxy", description: "The proxy of a server." });

export const ServerDomains = z
  .object({ ip: text.describe("Address of the server."), domains: z.array(text).describe("Host names.") })
  .meta({ id: "ServerDomains", description: "The host names of a server's resources." });
export type ServerDomains = z.infer<typeof ServerDomains>;

export const ServerResource = z
  .object({
    id: integer,
    uuid: text,
    name: text,
    type: text.describe("`application`, `service`, or `standalone-` with the engine of a database."),
    status: text,
    status_problem: z.string().nullable().describe(STATUS_PROBLEM),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "ServerResource", description: "A resource on a server." });
export type ServerResource = z.infer<typeof ServerResource>;

// `Object.keys` has a wider type: these are the keys of the table.
const ENGINE_KINDS = Object.keys(ENGINES) as [EngineKind, ...EngineKind[]];

export const Server = z
  .object({
    uuid: text,
    name: text,
    description: textOrNull,
    ip: text.describe("IP address or host name."),
    port: integer.describe("Port of SSH."),
    user: text.describe("Login of SSH."),
    team_id: integer,
    engine: z.enum(ENGINE_KINDS).describe("What runs the server's resources."),
    private_key_id: integer.nullable(),
    proxy_type: textOrNull,
    proxy: ServerProxy.nullable(),
    is_reachable: flag,
    is_usable: flag,
    is_coolify_host: flag.describe("It is the machine that Berth itself runs on."),
    settings: ServerSetting,
    resources: z.array(ServerResource).nullable().optional().describe("With `resources=true` only."),
    is_validating: flag.describe("A validation is in progress."),
    validation_logs: textOrNull.describe(
      "Problems that the last validation found, one sentence per line; null without any.",
    ),
    unreachable_notification_sent: flag,
    unreachable_count: integer.describe("How many of the last five probes failed."),
    host_key: textOrNull.describe("Expected fingerprint of the machine's host key; null until the first connection."),
    high_disk_usage_notification_sent: flag,
    log_drain_notification_sent: flag.describe(
      "Log lines are not delivered at present: `log-drains` of the server says why.",
    ),
    swarm_cluster: integer
      .nullable()
      .describe("Id of the team's server that manages its Docker Swarm, the same for all its nodes; null without one."),
    sentinel_updated_at: PlainTimestamp,
    ip_previous: textOrNull,
    hetzner_server_id: integer.nullable(),
    hetzner_server_status: textOrNull,
    cloud_provider_token_id: integer.nullable(),
    detected_traefik_version: textOrNull,
    traefik_outdated_info: z.record(text, z.unknown()).nullable(),
    server_metadata: z.record(text, z.unknown()).nullable(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    deleted_at: Timestamp.nullable().describe("When its deletion was requested; it is not found once that is done."),
  })
  .meta({ id: "Server", description: "A machine that runs or builds resources." });
export type Server = z.infer<typeof Server>;

export function serverView(server: ServerRecord, resources?: readonly ListedResource[]): Server {
  const { settings } = server;
  return {
    uuid: server.uuid,
    name: server.name,
    description: server.description,
    ip: server.ip,
    port: server.port,
    user: server.user,
    team_id: server.team_id,
    engine: server.engine,
    proxy_type: server.proxy_type.toLowerCase(),
    proxy: proxyView(server),
    is_reachable: settings.is_reachable,
    is_usable: settings.is_usable,
    is_coolify_host: isOwnMachine(server),
    settings: settingsView(server),
    ...(resources === undefined ? {} : { resources: resources.map(serverResourceView) }),
    ...WITHOUT_MEANING_YET,
    private_key_id: server.private_key_id,
    is_validating: server.is_validating,
    validation_logs: server.validation_logs,
    host_key: server.host_key,
    unreachable_count: server.unreachable_count,
    unreachable_notification_sent: server.unreachable_count > 0 && !settings.is_reachable,
    high_disk_usage_notification_sent: server.is_disk_usage_high,
    log_drain_notification_sent: server.log_drain_problem !== null,
    swarm_cluster: server.swarm_cluster,
    server_metadata: server.server_metadata && { ...server.server_metadata },
    ip_previous: server.ip_previous,
    hetzner_server_id: server.hetzner_server_id,
    cloud_provider_token_id: server.cloud_provider_token_id,
    sentinel_updated_at: plainTimestamp(server.updated_at),
    created_at: timestamp(server.created_at),
    updated_at: timestamp(server.updated_at),
    deleted_at: timestampOrNull(server.removing_at),
  };
}

const proxyView = (server: ServerRecord) => ({
  type: server.proxy_type.toUpperCase(),
  status: shownProxyStatus(server),
  redirect_enabled: server.settings.redirect_enabled,
});

type ShownResource = Pick<
  ListedResource,
  | "id"
  | "uuid"
  | "kind"
  | "name"
  | "status"
  | "status_problem"
  | "removing_at"
  | "database_engine"
  | "created_at"
  | "updated_at"
>;

export const serverResourceView = (resource: ShownResource): ServerResource => ({
  id: resource.id,
  uuid: resource.uuid,
  name: resource.name,
  type: resource.database_engine === null ? resource.kind : databaseType(resource.database_engine),
  status: STATUS_OF[resource.kind](resource),
  status_problem: resource.status_problem,
  created_at: timestamp(resource.created_at),
  updated_at: timestamp(resource.updated_at),
});

const STATUS_OF = {
  application: shownStatus,
  database: shownStatus,
  service: shownServiceStatus,
} as const satisfies Record<ResourceKind, unknown>;

function settingsView({ id, settings, created_at, updated_at }: ServerRecord): Server["settings"] {
  // Those of the proxy are shown with it.
  const { redirect_enabled: _isEnabled, redirect_url: _url, ...shown } = settings satisfies ServerSettings;
  return {
    ...shown,
    ...SETTINGS_WITHOUT_MEANING_YET,
    id,
    server_id: id,
    docker_cleanup_frequency: cronOf(settings.docker_cleanup_frequency),
    created_at: timestamp(created_at),
    updated_at: timestamp(updated_at),
  };
}

/** Fields that clients of this API family read, although Berth does not use them. */
const WITHOUT_MEANING_YET = {
  hetzner_server_status: null,
  detected_traefik_version: null,
  traefik_outdated_info: null,
} as const;

const SETTINGS_WITHOUT_MEANING_YET = {
  is_logdrain_highlight_enabled: false,
  logdrain_highlight_project_id: null,
  is_sentinel_enabled: false,
  is_sentinel_debug_enabled: false,
  sentinel_metrics_refresh_rate_seconds: 10,
  sentinel_metrics_history_days: 7,
  sentinel_push_interval_seconds: 60,
  force_server_cleanup: null,
} as const;
