import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Lasting names of applications' containers: the unique index decides between concurrent inserts. */
export const containerNames: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql
      .raw(
        `create table container_name (
          resource_id bigint primary key references resource on delete cascade,
          server_id bigint not null references server,
          name text not null,
          constraint container_name_taken unique (server_id, name)
        )`,
      )
      .execute(db);
  },
};
