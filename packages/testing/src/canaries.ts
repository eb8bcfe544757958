import { randomBytes } from "node:crypto";

/** A test's access to the API in which it stores secrets. */
export interface SecretTaker {
  /** Creates an object by POST. Returns its uuid. */
  made(path: string, body: object): Promise<string>;
  changed(path: string, body: object): Promise<unknown>;
  /** Creates the application that stores an application's secrets; `fields` is a part of its creation. */
  application(fields: object, canary: (field: string) => string): Promise<string>;
  readonly where: { readonly project_uuid: string; readonly environment_name: string; readonly server_uuid: string };
  /** A valid private key. Its second line is searched for. */
  readonly privateKey: string;
}

/** Unique texts, one for each field that requires permission to see secrets. They must not occur anywhere else. */
export interface Canaries {
  /** Texts by `Schema.field`. */
  readonly texts: ReadonlyMap<string, string>;
  /** Fields that repeat the value of another field. */
  readonly sameAs: ReadonlySet<string>;
  readonly made: {
    readonly application: string;
    readonly service: string;
    readonly database: string;
    readonly cloudToken: string;
  };
  /** The text for a field; unknown fields get a new one. */
  of(field: string): string;
}

/** Stores a unique text in every secret field. */
export async function plantCanaries({ made, changed, application, where, privateKey }: SecretTaker): Promise<Canaries> {
  const texts = new Map<string, string>();
  const sameAs = new Set<string>();
  const canary = (field: string): string => {
    const known = texts.get(field) ?? `canary${randomBytes(12).toString("hex")}`;
    texts.set(field, known);
    return known;
  };
  const of = (schema: string, ...fields: string[]) =>
    Object.fromEntries(fields.map((field) => [field, canary(`${schema}.${field}`)]));

  const uuid = await application(
    {
      custom_labels: `a=${canary("Application.custom_labels")}`,
      is_http_basic_auth_enabled: true,
      http_basic_auth_username: "me",
      ...of("Application", "http_basic_auth_password"),
    },
    canary,
  );
  const hosts = ["github", "gitlab", "bitbucket", "gitea"];
  await changed(`/applications/${uuid}`, {
    ...of("Application", ...hosts.map((host) => `manual_webhook_secret_${host}`)),
    docker_compose_raw: `# ${canary("Application.docker_compose_raw")}`,
  });

  await made(`/applications/${uuid}/envs`, { key: "SECRET", value: canary("EnvironmentVariable.value") });
  sameAs.add("EnvironmentVariable.real_value");
  const project = `/projects/${where.project_uuid}`;
  const owners = {
    team: "/teams/current",
    project,
    environment: `${project}/environments/${where.environment_name}`,
    server: `/servers/${where.server_uuid}`,
  };
  for (const [scope, owner] of Object.entries(owners)) {
    const name = scope === "team" ? "SharedVariable.value" : `SharedVariable.value of a ${scope}`;
    await made(`${owner}/shared-variables`, { key: "CANARY", value: canary(name) });
  }
  const value = Object.keys(owners).map((scope) => `{{ ${scope}.CANARY }}`);
  await made(`/applications/${uuid}/envs`, { key: "REFERS", value: value.join(" ") });
  await made(`/applications/${uuid}/storages`, {
    type: "file",
    mount_path: "/app/f",
    content: canary("FileStorage.content"),
  });

  texts.set("PrivateKey.private_key", privateKey.split("\n")[1] ?? "");
  await made("/security/keys", {
    private_key: privateKey,
    is_http_basic_auth_enabled: true,
    http_basic_auth_username: "me",
    ...of("PrivateKey", "http_basic_auth_password"),
  });
  const cloudToken = await made("/cloud-tokens", {
    provider: "hetzner",
    name: "cloud",
    token: canary("CloudToken.token"),
  });
  const scripts = (engine: string, filename: string | undefined) =>
    filename && { init_scripts: [{ filename, content: canary(`Database-${engine}.init_scripts`) }] };
  const databases = await Promise.all(
    Object.entries(PASSWORDS).map(([engine, fields]) => {
      const secrets = { ...of(`Database-${engine}`, ...fields), ...scripts(engine, SCRIPTS[engine]) };
      return made(`/databases/${engine}`, { ...where, ...secrets });
    }),
  );
  for (const engine of Object.keys(PASSWORDS)) {
    for (const url of ["internal_db_url", "external_db_url"]) sameAs.add(`Database-${engine}.${url}`);
  }
  await made("/s3-storages", {
    ...{ name: "backups", endpoint: "https://s3.example.com", region: "eu-central-1", bucket: "backups" },
    ...of("S3Storage", "key", "secret"),
  });
  await made("/registries", { address: "ghcr.io", username: "me", ...of("Registry", "password") });
  const [config, parser] = ["logdrain_custom_config", "logdrain_custom_config_parser"] as const;
  await changed(`/servers/${where.server_uuid}/log-drains`, {
    ...of("LogDrains", "logdrain_newrelic_license_key", "logdrain_axiom_api_key"),
    [config]: `[OUTPUT]\n  Name loki\n  Host h\n  Header X-Key ${canary(`LogDrains.${config}`)}\n`,
    [parser]: `[PARSER]\n  Name ${canary(`LogDrains.${parser}`)}\n`,
  });
  await plantChannels(texts, canary, changed);
  const compose = canary("Service.docker_compose_raw");
  const service = await made("/services", {
    ...where,
    docker_compose: `services:\n  web:\n    image: nginx\n    environment:\n      SECRET: ${compose}\n`,
  });
  sameAs.add("Service.docker_compose");
  return { texts, sameAs, made: { application: uuid, service, database: databases[0] ?? "", cloudToken }, of: canary };
}

/** Channels of notifications, which are turned off. */
async function plantChannels(
  texts: Map<string, string>,
  canary: (field: string) => string,
  changed: SecretTaker["changed"],
): Promise<void> {
  const of = (kind: string, ...fields: readonly string[]) =>
    Object.fromEntries(fields.map((field) => [field, canary(`${kind}Notifications.${field}`)]));
  const number = (field: string) => {
    const digits = String(randomBytes(6).readUIntBE(0, 6) + 100_000_000_000_000);
    texts.set(`TelegramNotifications.${field}`, digits);
    return [field, digits];
  };
  const threads = NOTIFIED.map((event) => `telegram_notifications_${event}_thread_id`);
  const channels: Readonly<Record<string, object>> = {
    email: {
      ...of("Email", "smtp_from_name", "smtp_host", "smtp_username", "smtp_password", "resend_api_key"),
      smtp_from_address: `${canary("EmailNotifications.smtp_from_address")}@example.com`,
      smtp_recipients: `${canary("EmailNotifications.smtp_recipients")}@example.com`,
    },
    discord: { discord_webhook_url: `https://hooks.example/${canary("DiscordNotifications.discord_webhook_url")}` },
    slack: { slack_webhook_url: `https://hooks.example/${canary("SlackNotifications.slack_webhook_url")}` },
    telegram: { ...of("Telegram", "telegram_token", "telegram_chat_id"), ...Object.fromEntries(threads.map(number)) },
    pushover: of("Pushover", "pushover_user_key", "pushover_api_token"),
    webhook: {
      ...of("Webhook", "webhook_secret"),
      webhook_url: `https://hooks.example/${canary("WebhookNotifications.webhook_url")}`,
    },
  };
  for (const [kind, body] of Object.entries(channels)) await changed(`/notifications/${kind}`, body);
}

/** As in the fields' names. */
const NOTIFIED = [
  ...["deployment_success", "deployment_failure", "status_change", "backup_success", "backup_failure"],
  ...["scheduled_task_success", "scheduled_task_failure", "docker_cleanup_success", "docker_cleanup_failure"],
  ...["server_disk_usage", "server_reachable", "server_unreachable", "server_patch", "traefik_outdated"],
];

const PASSWORDS: Readonly<Record<string, readonly string[]>> = {
  postgresql: ["postgres_password"],
  mysql: ["mysql_root_password", "mysql_password"],
  mariadb: ["mariadb_root_password", "mariadb_password"],
  mongodb: ["mongo_initdb_root_password"],
  redis: ["redis_password"],
  keydb: ["keydb_password"],
  dragonfly: ["dragonfly_password"],
  clickhouse: ["clickhouse_admin_password"],
};

/** Variable names of startup scripts that database images run at their first start. */
const SCRIPTS: Readonly<Record<string, string>> = {
  postgresql: "a.sql",
  mysql: "a.sql",
  mariadb: "a.sql",
  mongodb: "a.js",
  clickhouse: "a.sql",
};
