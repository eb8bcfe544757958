import { SHARED_SCOPES } from "@berth/core/env";
import type { ResourceRecord } from "@berth/core/ports";
import type { TestDatabase } from "@berth/testing";
import { sql } from "kysely";

/** Many owners of shared variables beside the resource's, each with some. */
export async function fillSharedVariables(
  { database: { kysely } }: TestDatabase,
  { uuid, team_id, server_id }: ResourceRecord,
): Promise<void> {
  await sql`
    with made as (
      insert into project (uuid, team_id, name) select ${uuid} || 'p' || n, ${team_id}, 'p' from generate_series(1, 300) as n
      returning id, uuid)
    insert into environment (uuid, project_id, name) select uuid || 'e', id, 'production' from made`.execute(kysely);
  await sql`
    insert into server (uuid, team_id, name, ip, port, "user", engine, proxy_type, settings)
    select ${uuid} || 's' || n, team_id, name, ${uuid} || n || '.test', port, "user", engine, proxy_type, settings
    from server, generate_series(1, 300) as n where server.id = ${server_id}`.execute(kysely);
  for (const scope of SHARED_SCOPES) {
    await sql`
      insert into ${sql.table(`${scope}_variable`)} (uuid, owner_id, key)
      select ${uuid} || owner.id || 'v' || n, owner.id, 'KEY_' || n
      from ${sql.table(scope)} as owner, generate_series(1, 10) as n on conflict do nothing`.execute(kysely);
  }
}
