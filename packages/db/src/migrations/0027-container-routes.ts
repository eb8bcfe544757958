import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const ROUTES = [
  "alter table service_container add column port integer",
  "alter table domain add column container text",
];

/** The container, and its port, that a URL's requests go to. */
export const containerRoutes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of ROUTES) await sql.raw(statement).execute(db);
  },
};
