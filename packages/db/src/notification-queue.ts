import { type ChannelKind, NO_FACTS, type NotificationFacts } from "@berth/core/notification";
import type { ClaimedDelivery, NotificationDeliveryRecord, SystemNotificationStore } from "@berth/core/ports";
import { sql } from "kysely";
import { emit, inTransaction, type StoreContext } from "./context.ts";
import { DELIVERY_COLUMNS, memberAddresses, openSettings } from "./notification.ts";
import { storable } from "./storable.ts";

const PRUNED_AT_ONCE = 5000;

export function systemNotificationStore(context: StoreContext): SystemNotificationStore {
  const { db } = context;
  return {
    claim: (request) => inTransaction(context, (tx) => claim(tx, request)),
    record: ({ id, attempts }, result, retrySeconds) =>
      inTransaction(context, async (tx) => {
        const isPending = retrySeconds !== undefined;
        const error = result.isDelivered ? null : storable(result.problem);
        const { rows } = await sql<NotificationDeliveryRecord>`update notification_delivery set
            state = ${result.isDelivered ? "delivered" : isPending ? "pending" : "failed"},
            error = ${error},
            next_attempt_at = now() + ${retrySeconds ?? 0}::float8 * interval '1 second',
            ended_at = case when ${isPending}::boolean then null else now() end
          where id = ${id} and attempts = ${attempts} and state = 'pending'
          returning uuid, team_id, kind, event, state`.execute(tx.db);
        for (const { uuid, team_id, kind, event, state } of rows) {
          emit(tx, {
            ...{ team_id, resource_uuid: null },
            type: state === "pending" ? "notification.delayed" : `notification.${state}`,
            payload: { delivery_uuid: uuid, channel: kind, event: event.type, ...(error !== null && { error }) },
          });
        }
      }),
    async prune(keptDays) {
      const { rows } = await sql`delete from notification_delivery where id = any(array(
          select id from notification_delivery
          where state <> 'pending' and ended_at < now() - ${keptDays}::int * interval '1 day'
          order by ended_at limit ${PRUNED_AT_ONCE}))
        returning id`.execute(db);
      return rows.length;
    },
  };
}

async function claim(
  tx: StoreContext,
  { countMax, perTeamMax, running, leaseSeconds }: Parameters<SystemNotificationStore["claim"]>[0],
): Promise<readonly ClaimedDelivery[]> {
  // A delivery that another worker takes at the same moment is left out, and looked at again in the next round.
  const { rows } = await sql<NotificationDeliveryRecord>`
    update notification_delivery set attempts = attempts + 1,
      next_attempt_at = now() + ${leaseSeconds}::float8 * interval '1 second'
    where id in (
      select id from notification_delivery where state = 'pending' and next_attempt_at <= now() and id in (
        select id from (
          select id, next_attempt_at, row_number() over (partition by team_id order by next_attempt_at, id)
            + (select count(*) from unnest(${running}::bigint[]) as other where other = due.team_id) as place
          from (
            select id, team_id, next_attempt_at from notification_delivery
            where state = 'pending' and next_attempt_at <= now()
            order by next_attempt_at, id limit ${DUE_MAX}
          ) due
        ) placed where place <= ${perTeamMax} order by next_attempt_at, id limit ${countMax})
      for update skip locked)
    returning ${sql.join(DELIVERY_COLUMNS.map((column) => sql.ref(column)))}`.execute(tx.db);
  if (rows.length === 0) return [];
  const deliveries = rows.toSorted((a, b) => a.id - b.id);
  const settings = await settingsOf(tx, deliveries);
  const facts = await factsOf(tx, deliveries);
  const addresses = new Map<number, readonly string[]>();
  for (const { team_id, kind } of deliveries) {
    if (kind === "email" && !addresses.has(team_id)) addresses.set(team_id, await memberAddresses(tx, team_id));
  }
  return deliveries.map((delivery) => ({
    ...delivery,
    settings: settings.get(channelKey(delivery)),
    memberAddresses: addresses.get(delivery.team_id) ?? [],
    facts: facts.get(delivery.id) ?? NO_FACTS,
  }));
}

/** So many are considered at once: a team with many waiting deliveries delays the others by as many at most. */
const DUE_MAX = 1000;

type Channel = Pick<NotificationDeliveryRecord, "team_id" | "kind">;
const channelKey = ({ team_id, kind }: Channel): string => `${team_id} ${kind}`;

/** Of channels that are enabled. */
async function settingsOf(tx: StoreContext, deliveries: readonly Channel[]): Promise<ReadonlyMap<string, object>> {
  const wanted = [...new Map(deliveries.map((delivery) => [channelKey(delivery), delivery])).values()];
  const teamIds = wanted.map(({ team_id }) => team_id);
  const kinds = wanted.map(({ kind }) => kind);
  const { rows } = await sql<{ readonly team_id: number; readonly kind: ChannelKind; readonly settings: Uint8Array }>`
    select wanted.team_id, wanted.kind, channel.settings
    from unnest(${teamIds}::bigint[], ${kinds}::text[]) as wanted (team_id, kind)
    cross join lateral (select own.settings from notification_channel own
      where own.team_id = wanted.team_id and own.kind = wanted.kind and own.is_enabled limit 1) as channel`.execute(
    tx.db,
  );
  return new Map(
    rows.map(({ team_id, kind, settings }) => [
      channelKey({ team_id, kind }),
      openSettings(tx, team_id, kind, settings),
    ]),
  );
}

/** What is known of the subjects of events, each in its own team. */
async function factsOf(
  { db }: StoreContext,
  deliveries: readonly Pick<NotificationDeliveryRecord, "id">[],
): Promise<ReadonlyMap<number, NotificationFacts>> {
  const { rows } = await sql<NotificationFacts & { readonly id: number }>`
    select delivery.id,
      case when resource.id is null then null else jsonb_build_object(
        'kind', resource.kind, 'name', resource.name, 'project', project.name, 'environment', environment.name,
        'fqdn', application.fqdn, 'preview_fqdn', preview.fqdn) end as resource,
      case when schedule.id is null then null else jsonb_build_object(
        'engine', database.engine, 'frequency', schedule.frequency, 'message', backup.message,
        's3_uploaded', backup.s3_uploaded) end as backup,
      case when task.id is null then null else jsonb_build_object(
        'message', execution.message, 'error', execution.error_details) end as task
    from notification_delivery delivery
    left join resource on resource.uuid = delivery.event ->> 'resource_uuid' and resource.team_id = delivery.team_id
    left join environment on environment.id = resource.environment_id
    left join project on project.id = environment.project_id
    left join application on application.resource_id = resource.id
    left join application_preview preview on preview.resource_id = resource.id
      and preview.pull_request_id = (delivery.event -> 'payload' ->> 'pull_request_id')::bigint
    left join database on database.resource_id = resource.id
    left join scheduled_backup schedule on schedule.uuid = delivery.event -> 'payload' ->> 'scheduled_backup_uuid'
      and schedule.resource_id = resource.id
    left join backup_execution backup on backup.uuid = delivery.event -> 'payload' ->> 'execution_uuid'
      and backup.scheduled_backup_id = schedule.id
    left join scheduled_task task on task.uuid = delivery.event -> 'payload' ->> 'task_uuid'
      and task.resource_id = resource.id
    left join scheduled_task_execution execution on execution.uuid = delivery.event -> 'payload' ->> 'execution_uuid'
      and execution.scheduled_task_id = task.id
    where delivery.id = any(${deliveries.map(({ id }) => id)}::bigint[])`.execute(db);
  return new Map(rows.map(({ id, ...facts }) => [id, facts]));
}
