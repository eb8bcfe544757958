import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What is wrong with the certificates of URLs. Those of most URLs have no problem, and no row. */
export const certificateProblems: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

const STATEMENTS = [
  `create table certificate_problem (
    resource_id bigint not null references resource (id) on delete cascade,
    host text not null,
    reason text not null,
    is_refused boolean not null,
    primary key (resource_id, host)
  )`,
  // Deferred, since a change of URLs deletes them all and inserts those that remain.
  `create function forget_certificate_problem() returns trigger language plpgsql set enable_seqscan = off as $$ begin
    delete from certificate_problem problem where problem.resource_id = old.resource_id and problem.host = old.host
      and not exists (select from domain where domain.resource_id = old.resource_id and domain.host = old.host
        and domain.pull_request_id = 0 and domain.url like 'https:%');
    return null;
  end $$`,
  `create constraint trigger domain_certificate_problem after delete on domain deferrable initially deferred
    for each row when (old.pull_request_id = 0) execute function forget_certificate_problem()`,
];
