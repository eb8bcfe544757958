import type { ResourceRecord } from "@berth/core/ports";
import type { TestDatabase } from "@berth/testing";
import { sql } from "kysely";

export interface LargeDatabases {
  readonly databaseId: number;
  /** A schedule of that database with most of the executions. */
  readonly scheduleId: number;
}

/** Databases with TLS and backups, some of them public; the first one has very many backups. */
export async function fillDatabases(
  { database }: TestDatabase,
  beside: ResourceRecord,
  { databases, executions }: { readonly databases: number; readonly executions: number },
): Promise<LargeDatabases> {
  const { kysely } = database;
  await sql`
    with made as (
      insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
      select ${beside.uuid} || 'b' || n, 'database', ${beside.team_id}, ${beside.environment_id}, ${beside.server_id},
        ${beside.destination_id}, 'database ' || n
      from generate_series(1, ${databases}::int) as n returning id, server_id)
    insert into database (resource_id, server_id, engine, settings, is_public, public_port, certificate_expires_at)
    select id, server_id, 'redis', '{"enable_ssl": true}'::jsonb, id % 20 = 0, 1024 + row_number() over (),
      now() + interval '2 years' * row_number() over () / ${databases}::int from made`.execute(kysely);
  await sql`
    insert into env (uuid, resource_id, key, is_preview, is_literal, is_multiline, is_shown_once, is_runtime,
      is_buildtime, is_required)
    select uuid || 'e', id, 'REDIS_PASSWORD', false, false, false, false, true, true, false from resource
    where team_id = ${beside.team_id} and kind = 'database'`.execute(kysely);
  await sql`
    insert into s3_storage (uuid, team_id, name, endpoint, bucket, region, is_usable, credentials)
    select ${beside.uuid} || team.id || 's' || n, team.id, 'storage ' || n, '', '', '', true, ''
    from team, generate_series(1, 40) as n`.execute(kysely);
  // Databases of other teams, without passwords.
  await sql`
    insert into registry (uuid, team_id, name, address, username, password)
    select ${beside.uuid} || team.id || 'g' || n, team.id, 'registry ' || n, ${beside.uuid} || n, '', ''
    from team, generate_series(1, 40) as n where team.name like 'Team %'`.execute(kysely);
  await sql`
    insert into scheduled_backup (uuid, resource_id, enabled, frequency, settings, s3_storage_id, requested_at)
    select resource.uuid || 'u', resource.id, true, 'daily', '{}',
      (select min(id) from s3_storage where team_id = ${beside.team_id}),
      case when resource.id % 100 = 0 then now() end
    from resource where team_id = ${beside.team_id} and kind = 'database'`.execute(kysely);
  const { rows } = await sql<{ id: number; resource_id: number }>`select id, resource_id from scheduled_backup
    where uuid = ${`${beside.uuid}b1u`}`.execute(kysely);
  const { id = 0, resource_id = 0 } = rows[0] ?? {};
  await sql`
    insert into backup_execution (uuid, scheduled_backup_id, status)
    select uuid || 'x' || n, id, case when resource_id % 100 = n then 'running' else 'success' end
    from scheduled_backup, generate_series(1, 2) as n where uuid like ${`${beside.uuid}%`}`.execute(kysely);
  await sql`
    insert into backup_execution (uuid, scheduled_backup_id, status)
    select ${beside.uuid} || 'y' || n, ${id}::bigint, 'success'
    from generate_series(1, ${executions}::int) as n`.execute(kysely);
  await sql`
    insert into backup_restore (uuid, kind, backup_execution_id, resource_id, target_resource_id, status)
    select execution.uuid || 'r', 'drill', execution.id, schedule.resource_id, schedule.resource_id, 'success'
    from backup_execution execution join scheduled_backup schedule on schedule.id = execution.scheduled_backup_id
    where execution.uuid like ${`${beside.uuid}b%`}`.execute(kysely);
  await sql`
    insert into backup_removal (folder, filename, not_before, attempts)
    select '/backups', ${beside.uuid} || n, now() + interval '1 minute' * n, n % 60
    from generate_series(1, ${databases}::int) as n`.execute(kysely);
  return { databaseId: resource_id, scheduleId: id };
}
