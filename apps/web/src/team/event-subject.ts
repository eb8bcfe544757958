import type { ResourceKind } from "@berth/core/resource";
import type { Outputs } from "../api/client.ts";
import { kindOf } from "../resource/kinds.ts";
import { TEAM_TABS } from "./tabs.ts";

export type Event = Pick<
  Outputs["events"]["list"]["events"][number],
  "id" | "type" | "actor" | "resource_uuid" | "payload" | "created_at"
>;
type TeamTab = (typeof TEAM_TABS)[number]["name"];

/** The page of what an event is about. */
export type SubjectPage =
  | { readonly page: "deployment" | "project"; readonly uuid: string }
  | { readonly page: ResourceKind | "server"; readonly uuid: string; readonly tab: string | undefined }
  | { readonly page: "team"; readonly tab: TeamTab };

export interface Subject {
  readonly name: string;
  /** `undefined`: it has no page, or does not exist any more. */
  readonly page: SubjectPage | undefined;
}

interface Named {
  readonly uuid: string;
  readonly name: string;
}

/** What the team has now. */
export interface Existing {
  readonly resources: readonly (Named & {
    readonly type: string;
    readonly project_uuid: string;
    readonly environment_uuid: string;
  })[];
  readonly servers: readonly Named[];
  readonly projects: readonly Named[];
}

/**
 * What each event is about, with its page if that exists still.
 * @param events The newest first, without gaps: what was deleted has no newer event than its deletion.
 */
export function subjectsOf(events: readonly Event[], existing: Existing): ReadonlyMap<Event["id"], Subject> {
  const byUuid = pagesOf(existing);
  const newest = new Map<string, string>();
  for (const event of events) {
    const key = keyOf(event);
    if (!newest.has(key)) newest.set(key, event.type);
  }
  return new Map(
    events.map((event) => {
      const found = byUuid.get(event.resource_uuid ?? "");
      const isRemoved = REMOVAL.test(newest.get(keyOf(event)) ?? "");
      const page = found?.page(event) ?? (isRemoved ? undefined : teamPage(event));
      const name = nameIn(event) ?? found?.name ?? event.resource_uuid ?? titleOf(page);
      return [event.id, { name, page }];
    }),
  );
}

interface Known {
  readonly name: string;
  readonly page: (event: Event) => SubjectPage;
}

function pagesOf({ resources, servers, projects }: Existing): ReadonlyMap<string, Known> {
  return new Map([
    // An environment has no page of its own. One without resources is not known here.
    ...resources.map(({ environment_uuid, project_uuid }): [string, Known] => [
      environment_uuid,
      { name: environment_uuid, page: () => ({ page: "project", uuid: project_uuid }) },
    ]),
    ...projects.map(({ uuid, name }): [string, Known] => [uuid, { name, page: () => ({ page: "project", uuid }) }]),
    ...servers.map(({ uuid, name }): [string, Known] => [
      uuid,
      { name, page: ({ type }) => ({ page: "server", uuid, tab: tabIn(SERVER_TABS, type) }) },
    ]),
    ...resources.map(({ uuid, name, type }): [string, Known] => [
      uuid,
      {
        name,
        page: ({ type: what, payload }) =>
          what.startsWith("deployment.") && typeof payload.deployment_uuid === "string"
            ? { page: "deployment", uuid: payload.deployment_uuid }
            : { page: kindOf(type), uuid, tab: tabIn(RESOURCE_TABS, what) },
      },
    ]),
  ]);
}

/** Where something of the team is listed. */
function teamPage({ type }: Event): SubjectPage | undefined {
  const tab = TEAM_TABS_BY_PREFIX.get(prefixOf(type));
  return tab && { page: "team", tab };
}

const titleOf = (page: SubjectPage | undefined): string =>
  (page?.page === "team" ? TEAM_TABS.find(({ name }) => name === page.tab)?.title : undefined) ?? "";

const prefixOf = (type: string): string => type.slice(0, type.indexOf("."));

const tabIn = (tabs: ReadonlyMap<string, string>, type: string): string | undefined =>
  tabs.get(type) ?? tabs.get(prefixOf(type));

/** Events about the same object have the same key. Users and tokens have numbers instead of uuids. */
function keyOf({ type, resource_uuid, payload }: Event): string {
  if (resource_uuid !== null) return resource_uuid;
  if (payload.user_id !== undefined) return `user ${payload.user_id}`;
  return `${prefixOf(type)} ${payload.id ?? payload.name ?? ""}`;
}

const REMOVAL = /\.(deleted|removed|revoked)$/;

const NAMES = [
  ...["name", "task_name", "resource_name", "database_name", "subject_name", "server_name"],
  ...["address", "channel", "provider"],
] as const;

const nameIn = ({ payload }: Event): string | undefined =>
  NAMES.map((key) => payload[key]).find((name) => typeof name === "string");

/** By type of event, or its part before the dot. */
const RESOURCE_TABS: ReadonlyMap<string, string> = new Map([
  ["resource.variables_changed", "variables"],
  ["resource.storages_changed", "storage"],
  ["resource.scheduled_tasks_changed", "tasks"],
  ["resource.backups_changed", "backups"],
  ["resource.backup_downloaded", "backups"],
  ["resource.restore_requested", "backups"],
  ["backup", "backups"],
  ["restore", "backups"],
  ["drill", "backups"],
  ["scheduled_task", "tasks"],
  ["preview", "previews"],
]);

const SERVER_TABS: ReadonlyMap<string, string> = new Map([
  ["server.proxy_status_changed", "proxy"],
  ["server.node_changed", "nodes"],
  ["job", "jobs"],
]);

const TEAM_TABS_BY_PREFIX: ReadonlyMap<string, TeamTab> = new Map([
  ["member", "members"],
  ["user", "members"],
  ["session", "members"],
  ["team", "members"],
  ["token", "tokens"],
  ["private_key", "keys"],
  ["registry", "registries"],
  ["s3_storage", "storages"],
  ["cloud_token", "clouds"],
  ["github_app", "git"],
  ["shared_variables", "variables"],
  ["notification", "notifications"],
  ["identity_provider", "sign-in"],
]);
