const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** `1.4 MB`; powers of 1000, as disks are sold. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export const percent = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} %`;

/** `41 s`, `3 min 5 s`, `2 h 4 min` */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `just now`, `5 min ago`, `3 days ago` */
export function age(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000);
  if (seconds < 0) return `in ${spanOf(-seconds)}`;
  return seconds < 45 ? "just now" : `${spanOf(seconds)} ago`;
}

function spanOf(seconds: number): string {
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  const days = Math.round(seconds / 86_400);
  return days === 1 ? "1 day" : `${days} days`;
}

/** `git_commit_sha` → `Git commit sha`. Names that read badly have a label of their own. */
export function labelOf(field: string): string {
  const own = LABELS.get(field);
  if (own !== undefined) return own;
  const words = field.replace(/^is_/, "").replaceAll("_", " ");
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(
    /\b(api|url|uri|ssl|smtp|gpu|cpu|s3|ip|id|http|https|ssh|uuid|sha|spa|dns|pr)\b|\b(cpus|docker|github|ipv4|ipv6|axiom|newrelic)\b/gi,
    (word) => WORDS.get(word.toLowerCase()) ?? word.toUpperCase(),
  );
}

/** Words with capitals of their own. */
const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    axiom: "Axiom",
    cpus: "CPUs",
    docker: "Docker",
    github: "GitHub",
    ipv4: "IPv4",
    ipv6: "IPv6",
    newrelic: "New Relic",
  }),
);

/** By field of the API, whose names are fixed by its contract. */
const LABELS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    as: "Variable",
    backup_now: "Save at once",
    connect_to_docker_network: "Join the network of the destination",
    custom_docker_run_options: "Docker run options",
    custom_internal_name: "Name of the container",
    custom_labels: "Labels of the containers",
    custom_network_aliases: "Network aliases",
    custom_nginx_configuration: "Configuration of nginx",
    database_backup_retention_amount_locally: "Backups kept on the server",
    database_backup_retention_days_locally: "Days kept on the server",
    databases_to_backup: "Databases to save",
    docker_compose_custom_build_command: "Build command",
    docker_compose_custom_start_command: "Start command",
    docker_compose_location: "Path of the compose file",
    disable_local_backup: "Keep in the S3 storage alone",
    docker_images_to_keep: "Images to keep",
    dump_all: "Save all databases",
    dynamic_timeout: "Seconds a deployment may take",
    force_domain_override: "Take the URLs over",
    fs_path: "Folder on the server",
    host_path: "Folder on the server",
    html_url: "Web address",
    http_basic_auth_password: "Password",
    http_basic_auth_username: "Username",
    is_buildtime: "For builds",
    is_container_label_escape_enabled: "Escape $ in labels",
    is_consistent_container_name_enabled: "Always the same container name",
    is_force_https_enabled: "Redirect to https",
    is_gzip_enabled: "Compress answers",
    is_gpu_enabled: "Use GPUs",
    is_http_basic_auth_enabled: "Ask for a password",
    is_log_drain_enabled: "Send its logs to the server's log drain",
    is_preview_suffix_enabled: "One for each preview",
    is_pr_deployments_public_enabled: "Previews for anybody's pull requests",
    is_preview_deployments_enabled: "Previews of pull requests",
    is_runtime: "For containers",
    is_spa: "Single-page application",
    is_stripprefix_enabled: "Remove the path prefix",
    is_swarm_only_worker_nodes: "Only on worker nodes",
    limits_cpu_shares: "CPU weight",
    limits_cpus: "CPU limit",
    limits_cpuset: "CPUs to run on",
    limits_memory: "Memory limit",
    limits_memory_reservation: "Memory reservation",
    limits_memory_swap: "Limit of memory and swap",
    limits_memory_swappiness: "Swappiness",
    manual_webhook_secret_bitbucket: "Secret of Bitbucket",
    manual_webhook_secret_gitea: "Secret of Gitea",
    manual_webhook_secret_github: "Secret of GitHub",
    manual_webhook_secret_gitlab: "Secret of GitLab",
    max_restart_count: "Restarts at most",
    noindex_domains: "URLs that search engines must not list",
    ports_exposes: "Ports it listens on",
    ports_mappings: "Ports on the server",
    post_deployment_command_container: "In the container, after",
    post_deployment_command: "Command after a deployment",
    pre_deployment_command_container: "In the container, before",
    pre_deployment_command: "Command before a deployment",
    save_s3: "Copy to the S3 storage",
    server_disk_usage_check_frequency: "Check the disk",
    server_disk_usage_notification_threshold: "Notify when fuller than, in percent",
    swarm_placement_constraints: "Conditions for nodes",
  }),
);
