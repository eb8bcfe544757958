import { ApplicationUpdate } from "@berth/core/application";
import { DatabaseUpdate } from "@berth/core/database";
import { ServiceUpdate } from "@berth/core/service";
import type { z } from "zod";
import type { Outputs } from "../api/client.ts";
import type { Placeholders } from "../parts/field.ts";
import type { FieldGroup, Values } from "../parts/form.tsx";
import type { ShownResource } from "./resource.ts";

const LIMITS: FieldGroup = {
  title: "Limits",
  fields: [
    "limits_memory",
    "limits_cpus",
    "limits_memory_swap",
    "limits_memory_reservation",
    "limits_memory_swappiness",
    "limits_cpuset",
    "limits_cpu_shares",
  ],
};
const isBuilt = (values: Values): boolean => values.build_pack !== "dockerimage";
const isCompose = (values: Values): boolean => values.build_pack === "dockercompose";
const isGit = (values: Values): boolean => values.source === "git";

/** Common fields first; the rest is in named groups. */
const APPLICATION: readonly FieldGroup[] = [
  { fields: ["name", "description"] },
  {
    title: "Source",
    when: isGit,
    fields: [
      "git_repository",
      "git_branch",
      "git_commit_sha",
      "private_key_uuid",
      "is_auto_deploy_enabled",
      "watch_paths",
    ],
  },
  {
    title: "Image",
    when: (values) => !isBuilt(values),
    fields: ["docker_registry_image_name", "docker_registry_image_tag"],
  },
  {
    title: "Build",
    when: isBuilt,
    fields: [
      ...["build_pack", "base_directory", "install_command", "build_command", "start_command"],
      ...["is_static", "publish_directory", "is_spa", "docker_images_to_keep", "use_build_server"],
    ],
  },
  {
    title: "Web server of static files",
    when: (values) => isBuilt(values) && (values.is_static === true || values.build_pack === "static"),
    fields: ["static_image", "custom_nginx_configuration"],
  },
  {
    title: "Dockerfile",
    when: ({ build_pack }) => build_pack === "dockerfile",
    fields: ["dockerfile_location", "dockerfile_target_build", "dockerfile"],
  },
  {
    title: "Compose file",
    when: isCompose,
    fields: [
      "docker_compose_location",
      ...["docker_compose_custom_build_command", "docker_compose_custom_start_command"],
    ],
  },
  {
    title: "Run",
    fields: [
      "ports_exposes",
      "ports_mappings",
      "stop_grace_period",
      "max_restart_count",
      "is_log_drain_enabled",
      "connect_to_docker_network",
      "custom_docker_run_options",
      "custom_network_aliases",
      "custom_internal_name",
      "is_consistent_container_name_enabled",
      "custom_labels",
      "is_container_label_escape_enabled",
    ],
  },
  { title: "GPU", fields: ["is_gpu_enabled"] },
  {
    when: ({ is_gpu_enabled }) => is_gpu_enabled === true,
    fields: ["gpu_driver", "gpu_count", "gpu_device_ids", "gpu_options"],
  },
  {
    title: "Scaling",
    fields: ["replicas", "autoscaling_enabled"],
  },
  {
    when: ({ autoscaling_enabled }) => autoscaling_enabled === true,
    fields: [
      ...["autoscaling_replicas_min", "autoscaling_replicas_max"],
      ...["autoscaling_cpu_percent", "autoscaling_memory_mb", "autoscaling_requests_per_second"],
    ],
  },
  {
    title: "Nodes",
    when: ({ destination_type }) => destination_type === "swarm",
    fields: ["swarm_placement_constraints", "is_swarm_only_worker_nodes"],
  },
  {
    title: "Health check",
    fields: ["health_check_enabled", "health_check_type"],
  },
  {
    when: ({ health_check_enabled, health_check_type }) =>
      health_check_enabled === true && health_check_type === "http",
    fields: [
      "health_check_path",
      "health_check_host",
      "health_check_scheme",
      "health_check_port",
      "health_check_method",
      "health_check_return_code",
      "health_check_response_text",
    ],
  },
  {
    when: ({ health_check_enabled, health_check_type }) => health_check_enabled === true && health_check_type === "cmd",
    fields: ["health_check_command"],
  },
  {
    when: ({ health_check_enabled }) => health_check_enabled === true,
    fields: ["health_check_interval", "health_check_timeout", "health_check_retries", "health_check_start_period"],
  },
  LIMITS,
  {
    title: "Before and after a deployment",
    fields: ["pre_deployment_command", "post_deployment_command"],
  },
  {
    when: isCompose,
    fields: ["pre_deployment_command_container", "post_deployment_command_container"],
  },
  {
    title: "Webhooks of git hosts",
    when: isGit,
    fields: [
      ...["manual_webhook_secret_github", "manual_webhook_secret_gitlab"],
      ...["manual_webhook_secret_bitbucket", "manual_webhook_secret_gitea"],
    ],
  },
  {
    title: "Previews",
    when: isGit,
    fields: ["is_preview_deployments_enabled", "preview_url_template", "is_pr_deployments_public_enabled"],
  },
  {
    title: "Password in front of it",
    fields: ["is_http_basic_auth_enabled", "http_basic_auth_username", "http_basic_auth_password"],
  },
];

/** Left out of answers to who may not see secrets, or has not entered the password again. */
const TEXTS_WITH_SECRETS: ReadonlySet<string> = new Set(["dockerfile", "custom_labels"]);

const DATABASE: readonly FieldGroup[] = [
  { fields: ["name", "description", "image"] },
  { title: "Public", fields: ["is_public", "public_port", "public_port_timeout", "enable_ssl", "ssl_mode"] },
  {
    title: "Health check",
    fields: [
      ...["health_check_enabled", "health_check_interval", "health_check_timeout"],
      ...["health_check_retries", "health_check_start_period"],
    ],
  },
  LIMITS,
];

const SERVICE: readonly FieldGroup[] = [
  { fields: ["name", "description", "connect_to_docker_network", "is_container_label_escape_enabled"] },
];

interface Settings {
  readonly schema: z.ZodObject;
  readonly groups: readonly FieldGroup[];
  readonly values: Values;
}

export function settingsOf({ application, database, service }: ShownResource): Settings {
  if (application !== undefined) {
    const { settings, ...rest } = application;
    const values: Values = { ...rest, ...settings };
    // What is hidden would look empty, and be replaced by what is typed.
    const groups = APPLICATION.map((group) => ({
      ...group,
      fields: group.fields.filter((name) => !TEXTS_WITH_SECRETS.has(name) || values[name] !== undefined),
    }));
    return { schema: ApplicationUpdate, groups, values };
  }
  if (database !== undefined) return databaseSettings(database);
  return { schema: ServiceUpdate, groups: SERVICE, values: { ...service } };
}

/** What applies to an application while a setting is empty, as its containers show. */
export function placeholdersOf(containers: readonly Pick<Container, "port">[]): Placeholders {
  const port = containers.find((container) => container.port !== null)?.port;
  return port === undefined ? {} : { ports_exposes: `${port}, found by the last deployment` };
}
type Container = Outputs["applications"]["containers"]["list"][number];

/** Engine-specific fields are in a group of their own. */
function databaseSettings(database: NonNullable<ShownResource["database"]>): Settings {
  const values: Values = { ...database };
  const common = new Set(DATABASE.flatMap(({ fields }) => fields));
  const own = Object.keys(values).filter(
    (name) => name in DatabaseUpdate.shape && !common.has(name) && OF_ENGINES.test(name),
  );
  return { schema: DatabaseUpdate, groups: [...DATABASE, { title: "Engine", fields: own }], values };
}

const OF_ENGINES = /^(postgres|mysql|mariadb|mongo|redis|keydb|dragonfly|clickhouse)_/;
