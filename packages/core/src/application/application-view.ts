import { z } from "zod";
import { STATUS_PROBLEM, shownStatus } from "../deploy/shown-status.ts";
import { LIMIT_FIELDS } from "../limits.ts";
import type { ApplicationRecord } from "../ports/records.ts";
import { ENGINES } from "../server/server-settings.ts";
import { repositoryUrl } from "../source/hosted-repository.ts";
import { PlainTimestamp, plainTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import type { ApplicationSecrets, ApplicationSettings } from "./application.ts";
import { ApplicationSetting } from "./application-setting-view.ts";
import { BUILD_PACKS } from "./build-pack.ts";
import { CertificateProblem } from "./certificate-problem.ts";
import { DomainConflict, firstUrlProblem, splitUrls, type UrlProblem } from "./domain.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();
const integer = z.int();
const secretText = z.string().nullable().optional().describe("Absent without read:sensitive.");

export const ApplicationDestination = z
  .object({
    uuid: text,
    name: text,
    network: text,
    server: z.object({ uuid: text, name: text, ip: text }),
  })
  .meta({ id: "ApplicationDestination", description: "Where an application runs." });

export const Application = z
  .object({
    uuid: text,
    name: text,
    description: textOrNull,
    status: text.describe("`state:health`, e.g. `running:healthy` or `exited:unhealthy`."),
    status_problem: textOrNull.describe(STATUS_PROBLEM),
    fqdn: textOrNull.describe("Its URLs, separated by commas."),
    urls: z.array(text).describe("Its URLs for a browser, with the proxy's port unless it is the default one."),
    url_problem: textOrNull.describe("Why a URL does not answer, and what to do."),
    certificate_problem: CertificateProblem.nullable(),
    source: z.enum(["git", "upload", "dockerfile", "image"]).describe("Where its code comes from."),
    project_uuid: text,
    environment_id: integer,
    environment_uuid: text,
    environment_name: text,
    server_uuid: text,
    server_status: flag.describe("Its server is reachable and usable."),
    destination_type: textOrNull,
    destination_id: integer.nullable(),
    destination: ApplicationDestination,
    additional_servers: z.array(z.record(text, z.unknown())),
    additional_servers_count: integer.describe("Servers that it is deployed to besides the first."),
    additional_networks_count: integer,
    repository_project_id: integer.nullable(),
    git_repository: text,
    git_branch: text,
    git_commit_sha: text,
    git_full_url: textOrNull,
    source_type: textOrNull,
    source_id: integer.nullable(),
    private_key_id: integer.nullable().optional().describe("Absent without read:sensitive."),
    build_pack: z.enum(BUILD_PACKS),
    static_image: text,
    install_command: textOrNull,
    build_command: textOrNull,
    start_command: textOrNull,
    ports_exposes: textOrNull,
    ports_mappings: textOrNull,
    base_directory: text,
    publish_directory: textOrNull,
    health_check_enabled: flag,
    health_check_type: z.enum(["http", "cmd"]),
    health_check_command: textOrNull,
    health_check_path: text,
    health_check_port: textOrNull.describe("A number, as text."),
    health_check_host: text,
    health_check_method: z.enum(["GET", "HEAD", "POST", "OPTIONS"]),
    health_check_return_code: integer,
    health_check_scheme: z.enum(["http", "https"]),
    health_check_response_text: textOrNull,
    health_check_interval: integer.describe("Seconds."),
    health_check_timeout: integer.describe("Seconds."),
    health_check_retries: integer,
    health_check_start_period: integer.describe("Seconds."),
    custom_healthcheck_found: flag,
    ...LIMIT_FIELDS,
    redirect: z.enum(["both", "www", "non-www"]),
    noindex_domains: z.array(text).nullable(),
    preview_url_template: text,
    watch_paths: textOrNull,
    custom_docker_run_options: textOrNull,
    custom_network_aliases: textOrNull,
    custom_nginx_configuration: textOrNull,
    custom_labels: secretText,
    docker_registry_image_name: textOrNull,
    docker_registry_image_tag: textOrNull,
    dockerfile: secretText,
    dockerfile_location: textOrNull,
    dockerfile_target_build: textOrNull,
    docker_compose: secretText,
    docker_compose_raw: secretText,
    docker_compose_location: textOrNull,
    docker_compose_domains: textOrNull.describe("JSON text."),
    docker_compose_custom_start_command: textOrNull,
    docker_compose_custom_build_command: textOrNull,
    compose_parsing_version: text,
    pre_deployment_command: textOrNull,
    pre_deployment_command_container: textOrNull,
    post_deployment_command: textOrNull,
    post_deployment_command_container: textOrNull,
    replicas: integer,
    scale_problem: textOrNull.describe("Why it does not have as many containers as asked for."),
    autoscaling_enabled: flag,
    autoscaling_replicas_min: integer,
    autoscaling_replicas_max: integer,
    autoscaling_cpu_percent: integer.nullable(),
    autoscaling_memory_mb: integer.nullable(),
    autoscaling_requests_per_second: integer.nullable(),
    swarm_replicas: integer.describe("The same as `replicas`."),
    swarm_placement_constraints: textOrNull,
    is_http_basic_auth_enabled: flag,
    http_basic_auth_username: textOrNull,
    http_basic_auth_password: secretText,
    manual_webhook_secret_github: secretText,
    manual_webhook_secret_gitlab: secretText,
    manual_webhook_secret_bitbucket: secretText,
    manual_webhook_secret_gitea: secretText,
    config_hash: textOrNull,
    restart_count: integer,
    last_restart_at: Timestamp.nullable(),
    last_restart_type: textOrNull,
    last_online_at: PlainTimestamp,
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    deleted_at: Timestamp.nullable(),
    settings: ApplicationSetting.optional().describe("Only in the answer about a single application."),
  })
  .meta({ id: "Application", description: "Code that is built, started, checked and routed." });
export type Application = z.infer<typeof Application>;

export const CreatedApplication = z
  .object({
    uuid: text,
    fqdn: textOrNull.describe("Its URLs, separated by commas."),
    deployment_uuid: text.optional().describe("With instant_deploy: the deployment that was queued."),
    overridden: z
      .array(DomainConflict)
      .optional()
      .describe("With force_domain_override: the resources that lost a URL to it."),
  })
  .meta({ id: "CreatedApplication", description: "A new application." });
export type CreatedApplication = z.infer<typeof CreatedApplication>;

export const ChangedApplication = z
  .object({
    uuid: text,
    message: text
      .optional()
      .describe("What was left out of the change, or that a deployment of the same commit is already waiting."),
    deployment_uuid: text.optional().describe("With instant_deploy: the deployment that is queued."),
    overridden: z
      .array(DomainConflict)
      .optional()
      .describe("With force_domain_override: the resources that lost a URL to it."),
  })
  .meta({ id: "ChangedApplication", description: "A changed application." });
export type ChangedApplication = z.infer<typeof ChangedApplication>;

export const UploadedSource = z
  .object({
    commit: text.describe("SHA-256 of the archive that the next deployment builds."),
    size: integer.describe("Bytes that were received."),
  })
  .meta({ id: "UploadedSource", description: "Source code that was uploaded." });

export interface ApplicationViewOptions {
  /** `undefined` for callers that may not read secrets. */
  readonly secrets: ApplicationSecrets | undefined;
  /** Adds the port of the server's proxy to a URL. */
  readonly publicUrl: (url: string) => string;
  readonly urlProblem: UrlProblem;
}

export function applicationView(application: ApplicationRecord, options: ApplicationViewOptions): Application {
  const { settings, placement, fqdn } = application;
  const urls = splitUrls(fqdn);
  const view: Application = {
    // Spread first: V8 copies what an object literal begins with at once, and anything behind it a field at a time.
    ...settingsView(settings),
    uuid: application.uuid,
    name: application.name,
    description: application.description,
    status: shownStatus(application),
    status_problem: application.status_problem,
    fqdn,
    urls: urls.map(options.publicUrl),
    url_problem: firstUrlProblem(urls, options.urlProblem),
    certificate_problem: application.certificate_problem,
    source: application.source,
    project_uuid: placement.project_uuid,
    environment_id: application.environment_id,
    environment_uuid: placement.environment_uuid,
    environment_name: placement.environment_name,
    server_uuid: placement.server_uuid,
    server_status: placement.is_server_functional,
    destination_id: application.destination_id,
    destination: destinationView(application),
    destination_type: ENGINES[placement.server_engine].destinationType,
    repository_project_id: application.github_app?.repository_id ?? null,
    git_full_url: application.github_app === null ? null : repositoryUrl(application),
    source_type: application.github_app === null ? null : "github_app",
    source_id: application.github_app?.id ?? null,
    additional_servers_count: application.additional_servers_count,
    scale_problem: application.scale_problem,
    restart_count: application.restart_count,
    last_restart_at: timestampOrNull(application.last_restart_at),
    last_restart_type: application.last_restart_at === null ? null : "crash",
    last_online_at: plainTimestamp(application.last_online_at ?? application.created_at),
    created_at: timestamp(application.created_at),
    updated_at: timestamp(application.updated_at),
    deleted_at: timestampOrNull(application.removing_at),
  };
  return options.secrets === undefined ? view : { ...view, ...secretsView(application, options.secrets) };
}

function destinationView({ placement }: ApplicationRecord): Application["destination"] {
  return {
    uuid: placement.destination_uuid,
    name: placement.destination_name,
    network: placement.destination_network,
    server: { uuid: placement.server_uuid, name: placement.server_name, ip: placement.server_ip },
  };
}

/** The fields that are settings or have no meaning yet. */
function settingsView(settings: ApplicationSettings) {
  const port = settings.health_check_port;
  return {
    git_repository: settings.git_repository,
    git_branch: settings.git_branch,
    git_commit_sha: settings.git_commit_sha,
    build_pack: settings.build_pack,
    static_image: settings.static_image,
    install_command: settings.install_command,
    build_command: settings.build_command,
    start_command: settings.start_command,
    ports_exposes: settings.ports_exposes,
    ports_mappings: settings.ports_mappings,
    base_directory: settings.base_directory,
    publish_directory: settings.publish_directory,
    health_check_enabled: settings.health_check_enabled,
    health_check_type: settings.health_check_type,
    health_check_command: settings.health_check_command,
    health_check_path: settings.health_check_path,
    health_check_host: settings.health_check_host,
    health_check_method: settings.health_check_method,
    health_check_return_code: settings.health_check_return_code,
    health_check_scheme: settings.health_check_scheme,
    health_check_response_text: settings.health_check_response_text,
    health_check_interval: settings.health_check_interval,
    health_check_timeout: settings.health_check_timeout,
    health_check_retries: settings.health_check_retries,
    health_check_start_period: settings.health_check_start_period,
    limits_memory: settings.limits_memory,
    limits_memory_swap: settings.limits_memory_swap,
    limits_memory_swappiness: settings.limits_memory_swappiness,
    limits_memory_reservation: settings.limits_memory_reservation,
    limits_cpus: settings.limits_cpus,
    limits_cpuset: settings.limits_cpuset,
    limits_cpu_shares: settings.limits_cpu_shares,
    redirect: settings.redirect,
    noindex_domains: settings.noindex_domains,
    preview_url_template: settings.preview_url_template,
    watch_paths: settings.watch_paths,
    custom_docker_run_options: settings.custom_docker_run_options,
    custom_network_aliases: settings.custom_network_aliases,
    custom_nginx_configuration: settings.custom_nginx_configuration,
    docker_registry_image_name: settings.docker_registry_image_name,
    docker_registry_image_tag: settings.docker_registry_image_tag,
    dockerfile_location: settings.dockerfile_location,
    dockerfile_target_build: settings.dockerfile_target_build,
    docker_compose_location: settings.docker_compose_location,
    docker_compose_custom_start_command: settings.docker_compose_custom_start_command,
    docker_compose_custom_build_command: settings.docker_compose_custom_build_command,
    pre_deployment_command: settings.pre_deployment_command,
    pre_deployment_command_container: settings.pre_deployment_command_container,
    post_deployment_command: settings.post_deployment_command,
    post_deployment_command_container: settings.post_deployment_command_container,
    replicas: settings.replicas,
    autoscaling_enabled: settings.autoscaling_enabled,
    autoscaling_replicas_min: settings.autoscaling_replicas_min,
    autoscaling_replicas_max: settings.autoscaling_replicas_max,
    autoscaling_cpu_percent: settings.autoscaling_cpu_percent,
    autoscaling_memory_mb: settings.autoscaling_memory_mb,
    autoscaling_requests_per_second: settings.autoscaling_requests_per_second,
    swarm_placement_constraints: settings.swarm_placement_constraints,
    is_http_basic_auth_enabled: settings.is_http_basic_auth_enabled,
    http_basic_auth_username: settings.http_basic_auth_username,
    health_check_port: port === null ? null : String(port),
    swarm_replicas: settings.replicas,
    docker_compose_domains: composeDomainsText(settings.docker_compose_domains),
    // Clients of this API family read these, although Berth does not use them.
    additional_servers: [],
    additional_networks_count: 0,
    custom_healthcheck_found: false,
    compose_parsing_version: "5",
    config_hash: null,
  };
}

function composeDomainsText(domains: ApplicationSettings["docker_compose_domains"]): string | null {
  if (domains === null) return null;
  return JSON.stringify(Object.fromEntries(domains.map(({ name, ...rest }) => [name, rest])));
}

const secretsView = ({ private_key_id }: ApplicationRecord, secrets: ApplicationSecrets) => ({
  ...secrets,
  docker_compose: null,
  private_key_id,
});
