import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const ROUTES = [
  "alter table service_container add column port integer",
  "alter table domain add column container text",
];

/** To which container of several a URL leads, and to which port of it. */
export const containerRoutes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of ROUTES) await sql.raw(statement).execute(db);
  },
};
