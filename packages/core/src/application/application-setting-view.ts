import { z } from "zod";
import type { ApplicationSettings } from "./application.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();
const integer = z.int();

export const ApplicationSetting = z
  .object({
    is_static: flag,
    is_spa: flag,
    is_auto_deploy_enabled: flag,
    is_force_https_enabled: flag,
    is_debug_enabled: flag,
    is_preview_deployments_enabled: flag,
    is_pr_deployments_public_enabled: flag,
    is_preserve_repository_enabled: flag,
    is_git_submodules_enabled: flag,
    is_git_lfs_enabled: flag,
    is_git_shallow_clone_enabled: flag,
    is_build_server_enabled: flag,
    is_log_drain_enabled: flag,
    is_include_timestamps: flag,
    is_gpu_enabled: flag,
    gpu_driver: text,
    gpu_count: textOrNull,
    gpu_device_ids: textOrNull,
    gpu_options: textOrNull,
    is_swarm_only_worker_nodes: flag,
    is_raw_compose_deployment_enabled: flag,
    is_consistent_container_name_enabled: flag,
    is_gzip_enabled: flag,
    is_stripprefix_enabled: flag,
    connect_to_docker_network: flag,
    custom_internal_name: textOrNull,
    is_container_label_escape_enabled: flag,
    is_container_label_readonly_enabled: flag,
    is_env_sorting_enabled: flag,
    disable_build_cache: flag,
    use_build_secrets: flag,
    inject_build_args_to_dockerfile: flag,
    include_source_commit_in_build: flag,
    docker_images_to_keep: integer,
    stop_grace_period: integer.nullable(),
    max_restart_count: integer,
  })
  .meta({ id: "ApplicationSetting", description: "Switches of an application." });
export type ApplicationSetting = z.infer<typeof ApplicationSetting>;

/** Adds the switches that are missing in lists. */
export const settingView = (settings: ApplicationSettings): ApplicationSetting => ({
  ...SWITCHES_WITHOUT_MEANING_YET,
  is_static: settings.is_static,
  is_spa: settings.is_spa,
  is_auto_deploy_enabled: settings.is_auto_deploy_enabled,
  is_force_https_enabled: settings.is_force_https_enabled,
  is_gzip_enabled: settings.is_gzip_enabled,
  is_stripprefix_enabled: settings.is_stripprefix_enabled,
  is_preview_deployments_enabled: settings.is_preview_deployments_enabled,
  is_pr_deployments_public_enabled: settings.is_pr_deployments_public_enabled,
  is_preserve_repository_enabled: settings.is_preserve_repository_enabled,
  is_build_server_enabled: settings.use_build_server,
  docker_images_to_keep: settings.docker_images_to_keep,
  connect_to_docker_network: settings.connect_to_docker_network,
  is_container_label_escape_enabled: settings.is_container_label_escape_enabled,
  stop_grace_period: settings.stop_grace_period,
  max_restart_count: settings.max_restart_count,
  is_log_drain_enabled: settings.is_log_drain_enabled,
  is_gpu_enabled: settings.is_gpu_enabled,
  gpu_driver: settings.gpu_driver,
  gpu_count: settings.gpu_count,
  gpu_device_ids: settings.gpu_device_ids,
  gpu_options: settings.gpu_options,
  is_swarm_only_worker_nodes: settings.is_swarm_only_worker_nodes,
  is_consistent_container_name_enabled: settings.is_consistent_container_name_enabled,
  custom_internal_name: settings.custom_internal_name,
});

const SWITCHES_WITHOUT_MEANING_YET = {
  is_debug_enabled: false,
  is_git_submodules_enabled: true,
  is_git_lfs_enabled: true,
  is_git_shallow_clone_enabled: true,
  is_include_timestamps: false,
  is_raw_compose_deployment_enabled: false,
  is_container_label_readonly_enabled: true,
  is_env_sorting_enabled: false,
  disable_build_cache: false,
  use_build_secrets: false,
  inject_build_args_to_dockerfile: true,
  include_source_commit_in_build: false,
} as const;
