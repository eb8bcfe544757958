import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const SCHEDULE = [
  `create table schedule (
    kind text not null,
    subject_id bigint not null,
    server_id bigint not null references server on delete cascade,
    frequency text not null,
    revision bigint not null default 1,
    changed_at timestamptz(3) not null default now(),
    is_planned boolean not null default false,
    due_at timestamptz(3) not null default 'epoch',
    primary key (kind, subject_id)
  )`,
  "create index schedule_due on schedule (kind, due_at, subject_id)",
  "create index schedule_server on schedule (server_id)",

  "create table scheduler (id integer primary key, looked_at timestamptz(3) not null, is_stall_told boolean not null)",

  // New and changed schedules are due at once, since only the scheduler can evaluate their expression.
  `create function set_schedule(kind_ text, subject bigint, server bigint, frequency_ text) returns void
    language plpgsql as $$ begin
      if frequency_ is null then
        delete from schedule where kind = kind_ and subject_id = subject;
        return;
      end if;
      insert into schedule as known (kind, subject_id, server_id, frequency) values (kind_, subject, server, frequency_)
        on conflict (kind, subject_id) do update set server_id = excluded.server_id, frequency = excluded.frequency,
          revision = known.revision + 1, changed_at = now(), is_planned = false, due_at = 'epoch'
          where known.frequency <> excluded.frequency or known.server_id <> excluded.server_id;
    end $$`,
];

interface Scheduled {
  readonly kind: string;
  readonly table: string;
  /** SQL expressions over the row `subject`. Its frequency is `null` while it is disabled. */
  readonly server: string;
  readonly frequency: string;
  /** Changes of these columns update the schedule. */
  readonly columns: string;
}

const serverOfResource = "(select server_id from resource where id = subject.resource_id)";
const whileEnabled = "case when subject.enabled then subject.frequency end";

const SCHEDULED: readonly Scheduled[] = [
  {
    kind: "scheduled_task",
    table: "scheduled_task",
    server: serverOfResource,
    frequency: whileEnabled,
    columns: "enabled, frequency",
  },
  {
    kind: "backup",
    table: "scheduled_backup",
    server: serverOfResource,
    frequency: whileEnabled,
    columns: "enabled, frequency",
  },
  {
    kind: "docker_cleanup",
    table: "server",
    server: "subject.id",
    frequency: "coalesce(subject.settings ->> 'docker_cleanup_frequency', '0 0 * * *')",
    columns: "settings",
  },
  {
    kind: "disk_check",
    table: "server",
    server: "subject.id",
    frequency: "coalesce(subject.settings ->> 'server_disk_usage_check_frequency', '0 23 * * *')",
    columns: "settings",
  },
];

/** Creates a trigger that keeps the schedules of a kind up to date, and inserts those of existing rows. */
const keep = ({ kind, table, server, frequency, columns }: Scheduled): readonly string[] => [
  `create function schedule_${kind}() returns trigger language plpgsql as $$ declare subject record; begin
    if tg_op = 'DELETE' then
      perform set_schedule('${kind}', old.id, null, null);
    else
      subject := new;
      perform set_schedule('${kind}', subject.id, ${server}, ${frequency});
    end if;
    return null;
  end $$`,
  `create trigger schedule_${kind} after insert or delete or update of ${columns} on ${table}
    for each row execute function schedule_${kind}()`,
  `select set_schedule('${kind}', subject.id, ${server}, ${frequency}) from ${table} as subject`,
];

const ZONE = [
  `create function schedule_zone() returns trigger language plpgsql as $$ begin
    update schedule set revision = revision + 1, changed_at = now(), is_planned = false, due_at = 'epoch'
      where server_id = new.id;
    return null;
  end $$`,
  `create trigger schedule_zone after update of settings on server for each row
    when ((old.settings ->> 'server_timezone') is distinct from (new.settings ->> 'server_timezone'))
    execute function schedule_zone()`,
];

/** The next due time of everything that has a frequency. */
export const schedules: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const statements = [...SCHEDULE, ...SCHEDULED.flatMap(keep), ...ZONE];
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
