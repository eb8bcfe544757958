import type { ResourceKind } from "../resource/resource.ts";
import type { EventType } from "../team/event.ts";
import type { NotificationEvent } from "./channel.ts";

/** What a team is told, before a channel puts it into its own form. */
export interface Notification {
  /** The setting that asks for it; `test` is always sent. */
  readonly setting: NotificationEvent | "test";
  /** Name of the event in a webhook's body. */
  readonly event: string;
  readonly isSuccess: boolean;
  readonly title: string;
  readonly text: string;
  /** Page of the dashboard; `null` if the instance has no public address. */
  readonly url: string | null;
  /** Further fields of a webhook's body. */
  readonly fields: Readonly<Record<string, string | number | null>>;
}

/** An event as it is stored with a delivery. */
export interface NotifiedEvent {
  readonly type: string;
  readonly resource_uuid: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** What is known of the subject of an event when its notification is sent. */
export interface NotificationFacts {
  /** `null`: it was deleted, or is a server. */
  readonly resource: {
    readonly kind: ResourceKind;
    readonly name: string;
    readonly project: string;
    readonly environment: string;
    readonly fqdn: string | null;
    /** URL of the preview, for deployments of pull requests. */
    readonly preview_fqdn: string | null;
  } | null;
  readonly backup: {
    readonly engine: string | null;
    readonly frequency: string;
    readonly message: string | null;
    readonly s3_uploaded: boolean | null;
  } | null;
  readonly task: { readonly message: string | null; readonly error: string | null } | null;
}

export const NO_FACTS: NotificationFacts = { resource: null, backup: null, task: null };

/** The setting that asks for an event; `undefined`: nobody is notified of it. Decided when the event is written. */
export function settingOf({ type, payload }: Pick<NotifiedEvent, "type" | "payload">): NotificationEvent | undefined {
  const setting = TABLE[type]?.setting;
  return typeof setting === "function" ? setting(payload) : setting;
}

/**
 * The notification of an event that `settingOf` has a setting for.
 *
 * @param instanceUrl Address of the dashboard.
 */
export function notificationOf(
  event: NotifiedEvent,
  facts: NotificationFacts,
  instanceUrl: string | null,
): Notification | undefined {
  const setting = settingOf(event);
  if (setting === undefined) return undefined;
  const pageUrl = (path: string) => (instanceUrl === null ? null : `${instanceUrl.replace(/\/$/, "")}${path}`);
  const built = TABLE[event.type]?.build({ ...event, ...facts }, pageUrl);
  return built && { setting, ...built };
}

type Payload = NotifiedEvent["payload"];
type Source = NotifiedEvent & NotificationFacts;
type Build = (source: Source, pageUrl: (path: string) => string | null) => Omit<Notification, "setting">;

/** One kind of event that teams can be notified of. */
interface Notified {
  readonly setting: NotificationEvent | ((payload: Payload) => NotificationEvent | undefined);
  readonly build: Build;
}

export const TEST_NOTIFICATION: Notification = {
  setting: "test",
  event: "test",
  isSuccess: true,
  title: "Test of Berth's notifications",
  text: "This channel works.",
  url: null,
  fields: {},
};

const deployment =
  (isSuccess: boolean): Build =>
  ({ payload, resource, resource_uuid }, pageUrl) => {
    const name = textOf(payload.resource_name) ?? resource?.name ?? "A resource";
    const uuid = textOf(payload.deployment_uuid);
    const url = pageUrl(`/deployments/${uuid}`);
    const pull =
      typeof payload.pull_request_id === "number" && payload.pull_request_id > 0 ? payload.pull_request_id : 0;
    const preview = pull === 0 ? "" : ` (pull request ${pull})`;
    const error = textOf(payload.error);
    const fqdn = pull === 0 ? resource?.fqdn : resource?.preview_fqdn;
    return {
      event: isSuccess ? "deployment_success" : "deployment_failed",
      isSuccess,
      title: `${name}${preview} ${isSuccess ? "is deployed" : "could not be deployed"}`,
      text: isSuccess ? `The new release is live.${fqdn ? ` ${fqdn}` : ""}` : (error ?? "Its log says why."),
      url,
      fields: {
        application_name: name,
        application_uuid: resource_uuid,
        deployment_uuid: uuid ?? null,
        deployment_url: url,
        ...placeOf(resource),
        ...(pull === 0 ? { fqdn: fqdn ?? null } : { pull_request_id: pull, preview_fqdn: fqdn ?? null }),
      },
    };
  };

const statusChanged: Build = ({ payload, resource, resource_uuid }, pageUrl) => {
  const name = textOf(payload.resource_name) ?? resource?.name ?? "A resource";
  const status = textOf(payload.status) ?? "unknown";
  const before = textOf(payload.previous_status) ?? "unknown";
  const problem = textOf(payload.status_problem);
  return {
    event: "status_changed",
    isSuccess: !isTrouble(status),
    title: `${name} is ${shownStatus(status)}`,
    text: `Its status was ${shownStatus(before)}.${problem === undefined ? "" : ` ${problem}`}`,
    url: pageUrl(resourcePath(resource?.kind ?? kindOf(payload), resource_uuid)),
    fields: {
      ...resourceFields(name, resource, resource_uuid),
      status,
      previous_status: before,
      ...(problem === undefined ? {} : { status_problem: problem }),
    },
  };
};

/** Nobody is notified of a start or stop that was requested. */
function statusSetting({ status, previous_status, desired_state }: Payload): NotificationEvent | undefined {
  if (desired_state === "stopped") return undefined;
  return isTrouble(textOf(status) ?? "") === isTrouble(textOf(previous_status) ?? "") ? undefined : "status_change";
}

const kindOf = ({ resource_kind }: Payload): ResourceKind =>
  resource_kind === "database" || resource_kind === "service" ? resource_kind : "application";

const isTrouble = (status: string): boolean => /^(exited|degraded)|unhealthy/.test(status);
const shownStatus = (status: string): string => status.replace(":", ", ");

const restartsEnded: Build = ({ payload, resource, resource_uuid }, pageUrl) => {
  const name = textOf(payload.resource_name) ?? resource?.name ?? "A resource";
  return {
    event: "container_stopped",
    isSuccess: false,
    title: `${name} was stopped`,
    text: `It ended ${payload.restart_count} times, which is its limit. Its log says why. Start it again when that is mended.`,
    url: pageUrl(resourcePath(resource?.kind ?? kindOf(payload), resource_uuid)),
    fields: resourceFields(name, resource, resource_uuid),
  };
};

const scaleFailed: Build = ({ payload, resource, resource_uuid }, pageUrl) => {
  const name = textOf(payload.resource_name) ?? resource?.name ?? "A resource";
  return {
    event: "scale_failed",
    isSuccess: false,
    title: `${name} could not be scaled to ${payload.to} containers`,
    text: textOf(payload.error) ?? "The log of Berth says why.",
    url: pageUrl(resourcePath(resource?.kind ?? kindOf(payload), resource_uuid)),
    fields: resourceFields(name, resource, resource_uuid),
  };
};

const certificateExpiring: Build = ({ payload, resource, resource_uuid }, pageUrl) => {
  const name = textOf(payload.name) ?? resource?.name ?? "A database";
  return {
    event: "certificate_expiring",
    isSuccess: false,
    title: `The certificate of ${name} expires`,
    text: `It is valid until ${textOf(payload.expires_at)?.slice(0, 10)}. Restart the database to renew it.`,
    url: pageUrl(resourcePath("database", resource_uuid)),
    fields: resourceFields(name, resource, resource_uuid),
  };
};

const backup =
  (isSuccess: boolean): Build =>
  (source, pageUrl) => {
    const isUnsaved = isSuccess && source.backup?.s3_uploaded === false;
    const { name, fields, url } = aboutDatabase(source, pageUrl);
    const why = source.backup?.message ?? "";
    return {
      event: isUnsaved ? "backup_success_with_s3_warning" : isSuccess ? "backup_success" : "backup_failed",
      isSuccess,
      title: isUnsaved
        ? `The backup of ${name} is not in its S3 storage`
        : `The backup of ${name} ${isSuccess ? "is saved" : "failed"}`,
      text: isUnsaved
        ? `It is saved on the server only. ${why}`.trim()
        : isSuccess
          ? "The newest backup is complete."
          : why || "Its log says why.",
      url,
      fields,
    };
  };

const drillFailed: Build = (source, pageUrl) => {
  const { name, fields, url } = aboutDatabase(source, pageUrl);
  return {
    event: "backup_failed",
    isSuccess: false,
    title: `The backup of ${name} could not be restored in a drill`,
    text: "The drill's log says why.",
    url,
    fields,
  };
};

function aboutDatabase(
  { payload, resource, resource_uuid, backup: run }: Source,
  pageUrl: (path: string) => string | null,
) {
  const name = textOf(payload.database_name) ?? resource?.name ?? "a database";
  return {
    name,
    url: pageUrl(resourcePath(resource?.kind ?? "database", resource_uuid)),
    fields: {
      database_name: name,
      database_uuid: resource_uuid,
      database_type: run?.engine ?? null,
      frequency: run?.frequency ?? null,
      ...placeOf(resource),
    },
  };
}

const task =
  (isSuccess: boolean): Build =>
  ({ payload, resource, resource_uuid, task: run }, pageUrl) => {
    const name = textOf(payload.task_name) ?? "A task";
    const output = textOf(run?.message?.trim());
    const why = isSuccess ? undefined : textOf(run?.error);
    const owner = resource === null ? "" : ` of ${resource.name}`;
    return {
      event: isSuccess ? "task_success" : "task_failed",
      isSuccess,
      title: `The task ${name}${owner} ${isSuccess ? "is done" : "failed"}`,
      text: [why, output].filter(Boolean).join("\n") || "It wrote nothing.",
      url: pageUrl(resourcePath(resource?.kind ?? "application", resource_uuid)),
      fields: {
        task_name: name,
        task_uuid: textOf(payload.task_uuid) ?? null,
        output: output ?? why ?? null,
        ...placeOf(resource),
      },
    };
  };

const cleanup =
  (isSuccess: boolean): Build =>
  ({ payload, resource_uuid }, pageUrl) => {
    const name = textOf(payload.subject_name) ?? "a server";
    return {
      event: isSuccess ? "docker_cleanup_success" : "docker_cleanup_failed",
      isSuccess,
      title: isSuccess ? `${name} was cleaned up` : `${name} could not be cleaned up`,
      text: isSuccess
        ? "What nothing uses any more was removed."
        : (textOf(payload.error) ?? "The job's log says why."),
      url: pageUrl(`/servers/${resource_uuid}`),
      fields: { server_name: name, server_uuid: resource_uuid },
    };
  };

const cleanupSetting =
  (setting: NotificationEvent) =>
  ({ job_type }: Payload) =>
    job_type === "server.cleanup" ? setting : undefined;

const server =
  (
    event: string,
    said: (name: string, payload: Payload) => Pick<Notification, "isSuccess" | "title" | "text">,
  ): Build =>
  ({ payload, resource_uuid }, pageUrl) => {
    const name = textOf(payload.server_name) ?? "A server";
    return {
      event,
      ...said(name, payload),
      url: pageUrl(`/servers/${resource_uuid}`),
      fields: { server_name: name, server_uuid: resource_uuid },
    };
  };

const serverReachable = server("server_reachable", (name) => ({
  isSuccess: true,
  title: `${name} answers again`,
  text: "Its resources are watched again.",
}));
const serverUnreachable = server("server_unreachable", (name, { problem }) => ({
  isSuccess: false,
  title: `${name} does not answer`,
  text: textOf(problem) ?? "Check its network and its SSH service.",
}));
const diskUsageHigh = server("high_disk_usage", (name, { used_percent }) => ({
  isSuccess: false,
  title: `The disk of ${name} is nearly full`,
  text: `${used_percent} % are used. Clean up the server, or give it more space.`,
}));

const NOTIFIED = {
  "deployment.finished": { setting: "deployment_success", build: deployment(true) },
  "deployment.failed": { setting: "deployment_failure", build: deployment(false) },
  "resource.status_changed": { setting: statusSetting, build: statusChanged },
  "resource.restart_limit_reached": { setting: "status_change", build: restartsEnded },
  "resource.scale_failed": { setting: "status_change", build: scaleFailed },
  "resource.certificate_expiring": { setting: "status_change", build: certificateExpiring },
  "backup.finished": { setting: "backup_success", build: backup(true) },
  "backup.failed": { setting: "backup_failure", build: backup(false) },
  "drill.failed": { setting: "backup_failure", build: drillFailed },
  "scheduled_task.finished": { setting: "scheduled_task_success", build: task(true) },
  "scheduled_task.failed": { setting: "scheduled_task_failure", build: task(false) },
  "job.finished": { setting: cleanupSetting("docker_cleanup_success"), build: cleanup(true) },
  "job.failed": { setting: cleanupSetting("docker_cleanup_failure"), build: cleanup(false) },
  "server.reachable": { setting: "server_reachable", build: serverReachable },
  "server.unreachable": { setting: "server_unreachable", build: serverUnreachable },
  "server.disk_usage_high": { setting: "server_disk_usage", build: diskUsageHigh },
} as const satisfies Partial<Record<EventType, Notified>>;
// Event types are text where they are stored.
const TABLE: Readonly<Record<string, Notified | undefined>> = NOTIFIED;

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const placeOf = (resource: NotificationFacts["resource"]) =>
  resource === null ? {} : { project: resource.project, environment: resource.environment };

const resourceFields = (name: string, resource: NotificationFacts["resource"], uuid: string | null) => ({
  resource_name: name,
  resource_uuid: uuid,
  ...placeOf(resource),
});

const resourcePath = (kind: ResourceKind, uuid: string | null): string => `/${kind}s/${uuid}`;
