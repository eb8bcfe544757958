import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const CERTIFICATES = [
  // The certificate is stored with the secrets. Its expiry is queried across all databases.
  `alter table database
    add column certificate_expires_at timestamptz(3),
    add column certificate_told_at timestamptz(3)`,
  `create index database_certificate on database (certificate_expires_at)
    where certificate_expires_at is not null and certificate_told_at is null`,
];

/** Expiry of databases' certificates. */
export const certificates: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of CERTIFICATES) await sql.raw(statement).execute(db);
  },
};
