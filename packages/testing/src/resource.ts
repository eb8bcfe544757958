import { notFound, type ResourceKind, type ResourceRecord, type Stores } from "@berth/core";
import type { TestDatabase } from "./database.ts";
import { testDatabaseResource } from "./database-records.ts";
import { type TestPlace, testApplication, testUuid } from "./records.ts";

/** A resource of any kind, for what all kinds share. Only an application has settings of its own. */
export async function testResource(
  { database }: Pick<TestDatabase, "database">,
  stores: Stores,
  kind: ResourceKind,
  place: TestPlace,
): Promise<ResourceRecord> {
  if (kind === "application") return await testApplication(stores, place);
  if (kind === "database") return await testDatabaseResource(stores, place);
  const { environment, server, destination } = place;
  const uuid = testUuid();
  await database.kysely
    .insertInto("resource")
    .values({
      ...{ uuid, kind, name: kind, description: null, team_id: server.team_id, environment_id: environment.id },
      ...{ server_id: server.id, destination_id: destination.id, removing_at: null },
    })
    .execute();
  const made = await stores.resources.find({ kind, uuid });
  if (made === undefined) throw notFound("Resource");
  return made;
}
