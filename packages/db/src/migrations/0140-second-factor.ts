import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  `create table second_factor (
    user_id bigint primary key references "user" on delete cascade,
    uuid text not null unique,
    secret bytea not null,
    confirmed_at timestamptz(3),
    last_step bigint not null default 0,
    created_at timestamptz(3) not null default now()
  )`,
  `create table recovery_code (
    user_id bigint not null references second_factor on delete cascade,
    hash text not null,
    primary key (user_id, hash)
  )`,
];

export const secondFactor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
