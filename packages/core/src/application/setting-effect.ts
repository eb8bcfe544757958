import type { SiteSettings } from "../deploy/site.ts";
import type { ApplicationUpdate } from "./application-input.ts";

/** What the proxy and the engine do with what runs, what decides about the next push, and what only people read. */
const AT_ONCE = {
  name: true,
  description: true,
  domains: true,
  docker_compose_domains: true,
  redirect: true,
  noindex_domains: true,
  is_http_basic_auth_enabled: true,
  http_basic_auth_username: true,
  http_basic_auth_password: true,
  is_force_https_enabled: true,
  is_gzip_enabled: true,
  is_stripprefix_enabled: true,
  is_auto_deploy_enabled: true,
  is_log_drain_enabled: true,
  watch_paths: true,
  replicas: true,
  autoscaling_enabled: true,
  autoscaling_replicas_min: true,
  autoscaling_replicas_max: true,
  autoscaling_cpu_percent: true,
  autoscaling_memory_mb: true,
  autoscaling_requests_per_second: true,
  is_preview_deployments_enabled: true,
  is_pr_deployments_public_enabled: true,
  manual_webhook_secret_github: true,
  manual_webhook_secret_gitlab: true,
  manual_webhook_secret_bitbucket: true,
  manual_webhook_secret_gitea: true,
} as const satisfies Partial<Record<keyof ApplicationUpdate, true>> & Record<keyof SiteSettings, true>;

/** Whether a changed field of an application takes effect within a second. Others do with the next deployment. */
export const takesEffectAtOnce = (field: string): boolean => Object.hasOwn(AT_ONCE, field);
