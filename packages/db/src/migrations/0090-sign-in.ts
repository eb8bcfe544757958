import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  'alter table "user" add column password_hash text',
  // A session can only use teams that its user has joined. Otherwise, whoever knows an email address could create a
  // user for it, choose the password, and wait for another team to add that address.
  "alter table team_member add column accepted_at timestamptz(3)",
  "update team_member set accepted_at = now() where user_id = 0",
  `alter table token
    add column kind text not null default 'api' check (kind in ('api', 'session')),
    add column device text,
    add column address text,
    add column confirmed_at timestamptz(3)`,
  "create index token_session on token (user_id) where kind = 'session'",
  `create table sign_in_link (
    hash text primary key,
    user_id bigint not null,
    team_id bigint not null,
    replaces_password boolean not null,
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null default now(),
    constraint sign_in_link_member foreign key (team_id, user_id) references team_member on delete cascade
  )`,
  "create index sign_in_link_user on sign_in_link (user_id)",
  "create index sign_in_link_member on sign_in_link (team_id, user_id)",
];

export const signIn: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
