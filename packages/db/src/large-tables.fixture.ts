import { ApplicationSettings } from "@berth/core/application";
import type { ResourceRecord, Stores } from "@berth/core/ports";
import { type TestDatabase, testApplication, testGithubApp, testPlace, testServer, testTeam } from "@berth/testing";
import { sql } from "kysely";
import { fillDatabases, type LargeDatabases } from "./large-databases.fixture.ts";
import { fillSharedVariables } from "./large-variables.fixture.ts";

export interface LargeTables {
  /** A team with many applications, of which one has nearly all deployments. */
  readonly large: TeamTables;
  /** A team with few of everything, in the same tables. */
  readonly small: TeamTables;
}

export interface TeamTables extends LargeDatabases {
  readonly stores: Stores;
  /** A third of the applications use it, with `resourceId` as their repository's number. */
  readonly githubAppId: number;
  readonly teamId: number;
  readonly environmentId: number;
  readonly serverId: number;
  readonly destinationId: number;
  /** The application with the deployments. */
  readonly resourceId: number;
  readonly uuid: string;
  /** A deployment with a long log. */
  readonly deploymentId: number;
  /** A task of `resourceId` with many executions. */
  readonly taskId: number;
}

export interface Sizes {
  readonly applications: number;
  readonly deployments: number;
}

const SMALL: Sizes = { applications: 100, deployments: 1_000 };

/** Fills the tables by statements, since a million single inserts would take an hour. */
export async function fillLargeTables(database: TestDatabase, sizes: Sizes): Promise<LargeTables> {
  const small = await fillTeam(database, SMALL);
  const large = await fillTeam(database, sizes);
  // PostgreSQL does this automatically after a while; then an index alone can answer more queries.
  await sql`vacuum analyze`.execute(database.database.kysely);
  return { small, large };
}

async function fillTeam(database: TestDatabase, { applications, deployments }: Sizes): Promise<TeamTables> {
  const { kysely } = database.database;
  const stores = await testTeam(database);
  const place = await testPlace(stores);
  const app = await testApplication(stores, place);
  const settings = JSON.stringify(ApplicationSettings.parse({ build_pack: "nixpacks", ports_exposes: "3000" }));
  await sql`
    with made as (
      insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name, status)
      select ${app.uuid} || n, 'application', ${app.team_id}, ${app.environment_id}, ${app.server_id},
        ${app.destination_id}, 'app ' || n, 'running:healthy'
      from generate_series(2, ${applications}::int) as n returning id, uuid)
    insert into application (resource_id, source, settings)
    select id, 'git', ${settings}::jsonb || jsonb_build_object('git_repository', 'https://git.example/team/' || uuid)
    from made`.execute(kysely);
  await sql`
    insert into env (uuid, resource_id, key, is_preview, is_literal, is_multiline, is_shown_once, is_runtime,
      is_buildtime, is_required)
    select resource.uuid || 'e' || n, resource.id, 'KEY_' || n, n % 2 = 0, false, false, false, true, true, false
    from resource, generate_series(1, 4) as n where resource.team_id = ${app.team_id}`.execute(kysely);
  await sql`
    insert into domain (resource_id, host, path, url, position)
    select id, uuid || '.test', '/', 'https://' || uuid || '.test', 0 from resource
    where team_id = ${app.team_id}`.execute(kysely);
  await sql`
    insert into certificate_problem (resource_id, host, reason, is_refused)
    select resource_id, host, 'There is none.', true from domain
    where resource_id in (select id from resource where team_id = ${app.team_id})`.execute(kysely);
  await sql`
    insert into application_preview (uuid, resource_id, pull_request_id)
    select uuid || 'p' || n, id, n from resource, generate_series(1, 6) as n
    where team_id = ${app.team_id}`.execute(kysely);
  await sql`
    insert into storage (uuid, resource_id, type, mount_path, is_directory, is_preview_suffix_enabled)
    select uuid || 's', id, 'persistent', '/data', false, true from resource where team_id = ${app.team_id}`.execute(
    kysely,
  );
  await sql`
    insert into scheduled_task (uuid, resource_id, name, command, frequency, timeout, enabled)
    select uuid || 'c', id, 'task', 'true', 'daily', 300, true from resource where team_id = ${app.team_id}`.execute(
    kysely,
  );
  const { rows: tasks } = await sql<{ id: number }>`select id from scheduled_task
    where resource_id = ${app.id}`.execute(kysely);
  const taskId = tasks[0]?.id ?? 0;
  await sql`
    insert into scheduled_task_execution (uuid, scheduled_task_id, status, retry_count, started_at)
    select ${app.uuid} || 'x' || n, ${taskId}::bigint, 'success', 0, now()
    from generate_series(1, ${deployments / 4}::int) as n
    union all select scheduled_task.uuid || 'x', scheduled_task.id, 'success', 0, now()
    from scheduled_task join resource on resource.id = resource_id where team_id = ${app.team_id}`.execute(kysely);
  await sql`
    insert into removed_resource (uuid, removed_at)
    select 'gone' || n || ${app.uuid}, now() - n * interval '1 hour' from generate_series(1, 20000) as n`.execute(
    kysely,
  );
  await sql`
    insert into metric (resource_id, at, deployment_uuid, memory_bytes, processes)
    select id, now() - n * interval '3 hours', 'd', 1, 1
    from resource cross join generate_series(0, 7) as n where team_id = ${app.team_id}`.execute(kysely);
  await sql`
    with made as (
      insert into tag (uuid, team_id, name)
      select ${app.uuid} || 't' || n, ${app.team_id}, case n when 0 then 'blue' else 'tag ' || n end from generate_series(0, 99) as n
      returning id)
    insert into resource_tag (tag_id, resource_id)
    select made.id, resource.id from made join resource on resource.id % 100 = made.id % 100
    where team_id = ${app.team_id}`.execute(kysely);
  await sql`
    insert into deployment (uuid, team_id, resource_id, resource_uuid, resource_name, server_id, destination_id, status,
      pull_request_id, commit, force_rebuild, restart_only, rollback, is_webhook, is_api, is_instant, attempt)
    select ${app.uuid} || 'd' || n, ${app.team_id}, ${app.id}, ${app.uuid}, ${app.name}, ${app.server_id},
      ${app.destination_id}, case when n > ${deployments}::int - 10 then 'queued' else 'finished' end,
      case when n % 10 = 0 then 7 else 0 end, md5(n::text), false, false, false, false, true, false, 1
    from generate_series(1, ${deployments}::int) as n`.execute(kysely);
  await sql`
    insert into deployment (uuid, team_id, resource_id, resource_uuid, resource_name, server_id, destination_id, status,
      pull_request_id, commit, force_rebuild, restart_only, rollback, is_webhook, is_api, is_instant)
    select uuid || 'd', team_id, id, uuid, name, server_id, destination_id, 'failed', 0, 'HEAD', false, false, false,
      false, true, false from resource where team_id = ${app.team_id} and id != ${app.id}`.execute(kysely);
  await sql`
    insert into deployment_step (deployment_id, name, status)
    select id, name, 'done' from deployment, unnest(array['checkout', 'build']) as name
    where team_id = ${app.team_id} and id % 10 = 0`.execute(kysely);
  await sql`
    insert into release (deployment_id, deployment_uuid, resource_id, resource_uuid, pull_request_id, server_id, role,
      artifact, built_by)
    select id, uuid, resource_id, resource_uuid, pull_request_id, server_id, 'retiring', '{}', uuid from deployment
    where team_id = ${app.team_id} and id % 50 = 0`.execute(kysely);
  const other = await elsewhere(stores);
  await sql`
    insert into application_destination (resource_id, server_id, destination_id)
    select id, server_id, destination_id from resource where team_id = ${app.team_id} and id % 2 = 0
    union all select id, ${other.server_id}, ${other.destination_id} from resource
    where team_id = ${app.team_id} and id % 2 = 0`.execute(kysely);
  await fillServices(database, { ...app, ...(await elsewhere(stores)) }, applications / 2);
  const sizes = { databases: applications / 2, executions: Math.min(deployments, 50_000) };
  const largeDatabases = await fillDatabases(database, { ...app, ...(await elsewhere(stores)) }, sizes);
  const { rows } = await sql<{ id: number }>`select max(id) as id from deployment
    where team_id = ${app.team_id}`.execute(kysely);
  const deploymentId = rows[0]?.id ?? 0;
  await sql`
    insert into deployment_log (deployment_id, seq, type, output, hidden, timestamp)
    select ${deploymentId}::bigint, n, 'stdout', 'line ' || n, false, now()
    from generate_series(1, ${Math.min(deployments, 50_000)}::int) as n`.execute(kysely);
  await sql`
    insert into job (uuid, team_id, type, subject_type, subject_id, subject_uuid, subject_name, status, finished_at)
    select ${app.uuid} || 'j' || n, ${app.team_id}, case when n % 100 = 0 then 'server.validate' else 'resource.delete' end,
      'application', ${app.id} * 1000000::bigint + n, ${app.uuid} || n, 'app',
      case when n % 50 = 0 then 'failed' when n % 1000 = 1 then 'queued' else 'finished' end,
      case when n % 1000 = 1 then null else now() - n * interval '1 second' end
    from generate_series(1, ${Math.min(deployments, 50_000)}::int) as n`.execute(kysely);
  await sql`
    insert into event (team_id, type, payload) select ${app.team_id}, 'test', '{}'
    from generate_series(1, ${Math.min(deployments, 50_000)}::int)`.execute(kysely);
  await sql`
    with made as (insert into team (name) select 'Team ' || n from generate_series(1, 100) as n returning id),
    joined as (insert into team_member (team_id, user_id, role) select id, 0, 'owner' from made returning team_id)
    insert into token (team_id, user_id, name, abilities, hash)
    select team.id, 0, 'token', '[]', ${app.uuid} || team.id || '-' || n
    from (select team_id as id from joined union all select ${app.team_id}) as team,
      generate_series(1, ${applications / 100}::int) as n`.execute(kysely);
  await sql`
    insert into cloud_token (uuid, team_id, provider, name, token)
    select token.hash || 'c' || n, team_id, 'hetzner', 'cloud', '' from token, generate_series(1, 2) as n
    where token.hash like ${app.uuid} || '%'`.execute(kysely);
  await sql`
    with made as (
      insert into "user" (name, email) select 'User ' || n, ${app.uuid} || n || '@example.com'
      from generate_series(1, 2000) as n returning id)
    insert into team_member (team_id, user_id, role)
    select team.id, made.id, 'member' from team join made on made.id % 10 = team.id % 10 or team.id = ${app.team_id}
    on conflict do nothing`.execute(kysely);
  await sql`
    insert into private_key (uuid, team_id, name, public_key, fingerprint, is_http_basic_auth_enabled, secrets)
    select ${app.uuid} || team.id || 'k' || n, team.id, 'key ' || n, 'ssh-ed25519 AAAA', ${app.uuid} || team.id || '-' || n,
      false, ''
    from team, generate_series(1, 40) as n`.execute(kysely);
  const githubApp = await testGithubApp(stores, { app_id: app.id });
  await sql`
    insert into github_app (uuid, team_id, name, api_url, html_url, custom_user, custom_port, app_id, installation_id,
      client_id, is_system_wide, private_key_id, secrets)
    select gen_random_uuid()::text, team_id, 'app', '', '', 'git', 22, 1000000 + id, 1, '', false, id, ''
    from private_key`.execute(kysely);
  await sql`
    update application set github_app_id = ${githubApp.id}, repository_project_id = resource_id
    from resource where resource.id = resource_id and team_id = ${app.team_id} and resource_id % 3 = 0`.execute(kysely);
  await sql`
    insert into webhook_delivery (provider, owner, delivery_id, answer)
    select 'github', ${app.uuid}, n, '[]' from generate_series(1, ${Math.min(deployments, 20_000)}::int) as n`.execute(
    kysely,
  );
  await fillSharedVariables(database, app);
  await fillNotifications(stores, database, { ...app, deliveries: Math.min(deployments, 50_000) });
  return {
    stores,
    githubAppId: githubApp.id,
    teamId: app.team_id,
    environmentId: place.environment.id,
    serverId: app.server_id,
    destinationId: app.destination_id,
    resourceId: app.id,
    uuid: app.uuid,
    deploymentId,
    taskId,
    ...largeDatabases,
  };
}

/** Channels of 2,000 teams, and deliveries of this one, of which some wait. */
async function fillNotifications(
  stores: Stores,
  { database }: TestDatabase,
  { team_id, uuid, deliveries }: Pick<ResourceRecord, "team_id" | "uuid"> & { readonly deliveries: number },
): Promise<void> {
  const { kysely } = database;
  await stores.notifications.save("webhook", { isEnabled: true, events: ["deployment_failure"], settings: {} });
  await sql`
    insert into notification_channel (team_id, kind, is_enabled, events, settings)
    select id, kind, false, '{}', '' from team, unnest(array['email', 'slack', 'discord']) as kind
    on conflict do nothing`.execute(kysely);
  await sql`
    insert into notification_delivery (uuid, team_id, kind, event, state, next_attempt_at, ended_at)
    select ${uuid} || 'n' || n, ${team_id}, case when n % 100 = 0 then 'slack' else 'webhook' end,
      '{"type": "deployment.failed", "payload": {}}', case when n % 5000 = 0 then 'pending' when n % 50 = 1 then 'failed'
        else 'delivered' end, now() - n * interval '1 second', case when n % 5000 = 0 then null else now() end
    from generate_series(1, ${deliveries}::int) as n`.execute(kysely);
}

/** Another server of the team. */
async function elsewhere(stores: Stores): Promise<Pick<ResourceRecord, "server_id" | "destination_id">> {
  const { server, destination } = await testServer(stores);
  return { server_id: server.id, destination_id: destination.id };
}

/** Services of two containers, each of which claims a URL. */
async function fillServices({ database }: TestDatabase, beside: ResourceRecord, services: number): Promise<void> {
  const { kysely } = database;
  await sql`
    with made as (
      insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
      select ${beside.uuid} || 'v' || n, 'service', ${beside.team_id}, ${beside.environment_id}, ${beside.server_id},
        ${beside.destination_id}, 'service ' || n
      from generate_series(1, ${services}::int) as n returning id)
    insert into service (resource_id, settings) select id, '{}'::jsonb from made`.execute(kysely);
  await sql`
    insert into service_container (uuid, resource_id, kind, name, exclude_from_status, position)
    select uuid || 'c' || n, id, 'application', 'c' || n, false, n from resource, generate_series(0, 1) as n
    where team_id = ${beside.team_id} and kind = 'service'`.execute(kysely);
  await sql`
    insert into domain (resource_id, service_container_id, host, path, url, position)
    select resource_id, id, uuid || '.test', '/', 'https://' || uuid || '.test', 0 from service_container
    where uuid like ${`${beside.uuid}%`}`.execute(kysely);
  await sql`
    insert into resource_tag (tag_id, resource_id)
    select tag.id, resource.id from tag join resource on resource.id % 100 = tag.id % 100
    where tag.team_id = ${beside.team_id} and resource.team_id = ${beside.team_id} and kind = 'service'`.execute(
    kysely,
  );
}
