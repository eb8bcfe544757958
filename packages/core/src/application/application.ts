import { z } from "zod";
import { LIMIT_SETTINGS } from "../limits.ts";
import { SCALING_SETTINGS } from "./autoscaling.ts";
import { BUILD_PACKS } from "./build-pack.ts";
import { CONTAINER_NAME_SETTINGS } from "./container-name.ts";
import { GPU_SETTINGS } from "./gpu.ts";
import { PLACEMENT_SETTINGS } from "./node-placement.ts";

const COMMAND_LENGTH_MAX = 1000;
/** Runs only in the application's own build or container, as one argument of its shell, so it needs no whitelist. */
const command = (about: string) => z.string().max(COMMAND_LENGTH_MAX).nullable().describe(about);
const folder = (about: string) =>
  z
    .string()
    .max(255)
    .regex(/^\/[\w.\-/~@+]*$/, "Must start with / and contain only letters, digits and . _ - / ~ @ +.")
    .describe(about);
const file = (about: string) =>
  z
    .string()
    .max(255)
    .regex(/^\/[\w.\-/~@+]+$/, "Must start with / and contain only letters, digits and . _ - / ~ @ +.")
    .nullable()
    .describe(about);
const containerName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9][\w.-]*$/)
  .nullable();

/** The settings of an application that no query filters by, stored in one `jsonb` column. */
export const ApplicationSettings = z.object({
  git_repository: z.string().max(2048).default("").describe("https, http, git or ssh URL, or git@host:path."),
  git_branch: z.string().max(255).default("").describe("Branch to deploy."),
  git_commit_sha: z
    .string()
    .max(255)
    .regex(/^[a-zA-Z0-9][\w.\-/]*$/)
    .default("HEAD")
    .describe("Commit, tag, or HEAD for the newest commit of the branch."),
  build_pack: z.enum(BUILD_PACKS).describe("How the source is built."),
  static_image: z.enum(["nginx:alpine"]).default("nginx:alpine").describe("Image that serves a static application."),
  is_static: z.boolean().default(false).describe("Serve the publish directory as static files."),
  is_spa: z.boolean().default(false).describe("Answer unknown paths of a static application with its index.html."),
  is_auto_deploy_enabled: z.boolean().default(true).describe("Deploy on push."),
  is_force_https_enabled: z.boolean().default(true).describe("Redirect http to https."),
  is_gzip_enabled: z.boolean().default(true).describe("Compress answers at the proxy."),
  is_stripprefix_enabled: z
    .boolean()
    .default(true)
    .describe("Remove the path of a URL before the application gets the request."),
  install_command: command("Replaces the detected install command. The command `true` installs nothing.").default(null),
  build_command: command("Replaces the detected build command. The command `true` builds nothing.").default(null),
  start_command: command("Replaces the detected start command.").default(null),
  ports_exposes: z
    .string()
    .regex(/^\d+(,\d+)*$/, "Port numbers, separated by commas.")
    .nullable()
    .default(null)
    .describe("Ports the application listens on; the first one gets traffic."),
  ports_mappings: z
    .string()
    .regex(
      /^\d+:\d+(,\d+:\d+)*$/,
      "Must be pairs of a port of the server and one of the container, such as 8080:80, separated by commas.",
    )
    .nullable()
    .default(null)
    .describe("Ports published on the server."),
  base_directory: folder("Folder of the repository with the application.").default("/"),
  publish_directory: folder("Folder with the built files of a static application.").nullable().default(null),
  health_check_enabled: z.boolean().default(false).describe("Use the health check below instead of the built-in one."),
  health_check_type: z
    .enum(["http", "cmd"])
    .default("http")
    .describe("Request a path, or run a command in the container."),
  health_check_command: command("Command of a cmd health check: healthy when it exits with 0.").default(null),
  health_check_path: z
    .string()
    .max(2048)
    .regex(/^\/[\w/\-.~%,;]*$/, "A path that starts with /.")
    .default("/"),
  health_check_port: z.int().min(1).max(65535).nullable().default(null).describe("Default: the first exposed port."),
  health_check_host: z
    .string()
    .max(255)
    .regex(/^[\w.-]+$/)
    .default("localhost"),
  health_check_method: z.enum(["GET", "HEAD", "POST", "OPTIONS"]).default("GET"),
  health_check_return_code: z.int().min(100).max(599).default(200),
  health_check_scheme: z.enum(["http", "https"]).default("http"),
  health_check_response_text: z.string().max(1000).nullable().default(null).describe("Text the answer must contain."),
  health_check_interval: z.int().min(1).max(3600).default(5).describe("Seconds between two checks."),
  health_check_timeout: z.int().min(1).max(3600).default(5).describe("Seconds one check may take."),
  health_check_retries: z.int().min(1).max(1000).default(10).describe("Failed checks in a row that mean unhealthy."),
  health_check_start_period: z
    .int()
    .min(0)
    .max(3600)
    .default(5)
    .describe("Seconds after the start in which failures do not count."),
  ...LIMIT_SETTINGS,
  custom_docker_run_options: z.string().max(2000).nullable().default(null),
  custom_network_aliases: z.string().max(2000).nullable().default(null),
  custom_nginx_configuration: z.string().max(65536).nullable().default(null),
  pre_deployment_command: command("Runs in the running release before it is replaced.").default(null),
  pre_deployment_command_container: containerName.default(null),
  post_deployment_command: command("Runs in the new release once traffic flows to it.").default(null),
  post_deployment_command_container: containerName.default(null),
  redirect: z.enum(["both", "www", "non-www"]).default("both"),
  noindex_domains: z
    .array(z.string().max(2048))
    .max(100)
    .nullable()
    .default(null)
    .describe("Those of its URLs that search engines must not list. Other URLs are ignored."),
  docker_registry_image_name: z.string().max(255).nullable().default(null),
  docker_registry_image_tag: z
    .string()
    .max(128)
    .regex(/^\w[\w.-]{0,127}$/)
    .nullable()
    .default(null),
  dockerfile_location: file("Dockerfile inside the repository.").default(null),
  dockerfile_target_build: containerName.default(null),
  docker_compose_location: file("Compose file inside the repository.").default("/docker-compose.yaml"),
  docker_compose_domains: z
    .array(
      z.strictObject({
        name: z.string().max(255),
        domain: z.string().max(2048).nullish(),
        redirect: z.enum(["www", "non-www", "both"]).nullish(),
      }),
    )
    .nullable()
    .default(null),
  docker_compose_custom_start_command: command(
    "`docker compose up` with `--file`, `--env-file` (both repeatable), `--profile`, `--scale`, `--force-recreate` and options for what Berth does anyway; parsed, not run.",
  ).default(null),
  docker_compose_custom_build_command: command(
    "`docker compose build` with `--file`, `--env-file` (both repeatable), `--profile`, `--build-arg`, `--no-cache`, `--pull`; parsed, not run.",
  ).default(null),
  watch_paths: z.string().max(10000).nullable().default(null),
  use_build_server: z.boolean().default(false),
  docker_images_to_keep: z
    .int()
    .min(0)
    .max(100)
    .default(2)
    .describe("Number of earlier images that stay on the server for rollbacks, besides the running one."),
  is_log_drain_enabled: z
    .boolean()
    .default(false)
    .describe("Whether the log drain of its server gets the lines that it prints."),
  is_http_basic_auth_enabled: z.boolean().default(false),
  http_basic_auth_username: z.string().max(255).nullable().default(null),
  connect_to_docker_network: z.boolean().default(false),
  is_container_label_escape_enabled: z.boolean().default(true).describe("Escape $ in container labels."),
  is_preserve_repository_enabled: z.boolean().default(false),
  is_preview_deployments_enabled: z.boolean().default(false),
  is_pr_deployments_public_enabled: z
    .boolean()
    .default(false)
    .describe("Also deploy previews of pull requests from people without write access to the repository."),
  preview_url_template: z.string().max(255).default("{{pr_id}}.{{domain}}"),
  stop_grace_period: z
    .int()
    .min(1)
    .max(3600)
    .nullable()
    .default(null)
    .describe("Seconds a container may take to stop; default 10."),
  ...SCALING_SETTINGS,
  ...PLACEMENT_SETTINGS,
  ...GPU_SETTINGS,
  ...CONTAINER_NAME_SETTINGS,
  max_restart_count: z
    .int()
    .min(0)
    .max(1000)
    .default(10)
    .describe("Consecutive restarts after which it is stopped; 0 means no limit."),
});
export type ApplicationSettings = z.infer<typeof ApplicationSettings>;

/** Secrets, and texts that may contain some: encrypted at rest, left out of answers without `read:sensitive`. */
export const ApplicationSecrets = z.object({
  custom_labels: z.string().max(65536).nullable().default(null),
  dockerfile: z.string().max(262144).nullable().default(null),
  docker_compose_raw: z.string().max(1048576).nullable().default(null),
  http_basic_auth_password: z.string().max(255).nullable().default(null),
  manual_webhook_secret_github: z.string().max(255).nullable().default(null),
  manual_webhook_secret_gitlab: z.string().max(255).nullable().default(null),
  manual_webhook_secret_bitbucket: z.string().max(255).nullable().default(null),
  manual_webhook_secret_gitea: z.string().max(255).nullable().default(null),
});
export type ApplicationSecrets = z.infer<typeof ApplicationSecrets>;

/** Where an application's code comes from. */
export const APPLICATION_SOURCES = ["git", "upload", "dockerfile", "image"] as const;
export type ApplicationSource = (typeof APPLICATION_SOURCES)[number];
