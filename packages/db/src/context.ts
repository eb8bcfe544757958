import { DomainError } from "@berth/core";
import type { WakeTopic } from "@berth/core/ports";
import { type EventActor, ROOT_TEAM_ID } from "@berth/core/team";
import { AbortedTransactionError, type Kysely, sql } from "kysely";
import { DEPLOYMENT_CHANNEL, EVENT_CHANNEL, QUEUE_CHANNEL, RUN_CHANNEL } from "./changes.ts";
import type { Cipher } from "./cipher.ts";
import type { Database } from "./client.ts";
import { mayBeRetried, wrapDatabaseError } from "./errors.ts";
import { deliveriesOf } from "./notified-event.ts";
import type { DB } from "./schema.ts";
import { storableJson } from "./storable.ts";

export interface StoreDependencies {
  readonly cipher: Cipher;
}

export interface StoreContext extends StoreDependencies {
  readonly database: Database;
  /**
   * Inside a transaction it is the transaction itself: PGlite has one connection, so another query would wait for
   * ever.
   */
  readonly db: Kysely<DB>;
  /** Notifications that are sent just before the transaction commits; `undefined` outside of one. */
  readonly pending: PendingMessages | undefined;
  /** The actor recorded in events; `undefined`: Berth itself. */
  readonly actor?: EventActor | undefined;
}

export interface TeamContext extends StoreContext {
  readonly teamId: number;
}

export interface NewEvent {
  readonly team_id: number;
  readonly type: string;
  readonly resource_uuid: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

interface PendingMessages {
  readonly events: (NewEvent & { readonly actor: EventActor | null })[];
  readonly changedDeployments: Set<number>;
  readonly changedRuns: Set<string>;
  readonly wakes: Set<WakeTopic>;
}

export const isRoot = ({ teamId }: TeamContext): boolean => teamId === ROOT_TEAM_ID;

const ATTEMPTS_MAX = 5;

/**
 * Runs `work` in a transaction, or in the current one of `context`. If PostgreSQL ends it for a deadlock, or did not
 * commit it since its connection was lost, `work` runs again: it must change nothing but the database.
 */
export async function inTransaction<C extends StoreContext, T>(
  context: C,
  work: (context: C) => Promise<T>,
): Promise<T> {
  if (context.pending !== undefined) return await work(context);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.db.transaction().execute(async (db) => {
        const pending: PendingMessages = {
          events: [],
          changedDeployments: new Set<number>(),
          changedRuns: new Set<string>(),
          wakes: new Set<WakeTopic>(),
        };
        const tx = { ...context, db, pending };
        const result = await work(tx);
        await sendPending(tx);
        return result;
      });
    } catch (error) {
      if (error instanceof AbortedTransactionError) throw wrapDatabaseError(error);
      if (!mayBeRetried(error) || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}

/** Only inside a transaction: an event is written together with the change that it reports. */
export function emit(context: StoreContext, event: NewEvent): void {
  pendingOf(context).events.push({ ...event, actor: context.actor ?? null });
}

/** Notifies followers of the deployment when the transaction commits. */
export function notifyDeployment(context: StoreContext, id: number): void {
  pendingOf(context).changedDeployments.add(id);
}

/** Notifies followers of a job, backup or restore when the transaction commits. */
export function notifyRun(context: StoreContext, uuid: string): void {
  pendingOf(context).changedRuns.add(uuid);
}

/** Wakes the loops of all control planes that wait for one of these topics when the transaction commits. */
export function wakeWorkers(context: StoreContext, ...topics: readonly WakeTopic[]): void {
  const { wakes } = pendingOf(context);
  for (const topic of topics) wakes.add(topic);
}

function pendingOf({ pending }: StoreContext): PendingMessages {
  if (pending === undefined)
    throw new DomainError("internal.error", "A change of state was made outside a transaction.");
  return pending;
}

async function sendPending({ db, pending }: StoreContext): Promise<void> {
  if (pending === undefined) return;
  if (pending.events.length > 0 && (await insertEvents(db, pending.events))) pending.wakes.add("notification");
  const messages: readonly (readonly [channel: string, payload: string])[] = [
    ...[...pending.changedDeployments].map((id) => [DEPLOYMENT_CHANNEL, String(id)] as const),
    ...[...pending.changedRuns].map((uuid) => [RUN_CHANNEL, uuid] as const),
    ...[...new Set(pending.events.map(({ team_id }) => team_id))].map((id) => [EVENT_CHANNEL, String(id)] as const),
    ...(pending.wakes.size > 0 ? [[QUEUE_CHANNEL, [...pending.wakes].join(" ")] as const] : []),
  ];
  if (messages.length === 0) return;
  await sql`select pg_notify(message ->> 0, message ->> 1)
    from jsonb_array_elements(${JSON.stringify(messages)}::jsonb) as message`.execute(db);
}

// Arbitrary, but different from other users of advisory locks with two keys.
const EVENT_LOCK = 20_211;

/**
 * Ids are assigned before a transaction commits. A reader that remembers the last id would miss an event with a
 * smaller id that commits later, so a team's events are written by one transaction at a time. A transaction takes
 * this lock last, so it is never part of a deadlock.
 *
 * Notifications of the events are queued in the same statement, so that each event that is read later has its own.
 *
 * @returns Whether there are any.
 */
async function insertEvents(db: Kysely<DB>, events: PendingMessages["events"]): Promise<boolean> {
  const teamIds = [...new Set(events.map((event) => event.team_id))].sort((a, b) => a - b);
  for (const teamId of teamIds) await sql`select pg_advisory_xact_lock(${EVENT_LOCK}, ${teamId}::int)`.execute(db);
  let hasDeliveries = false;
  for (let from = 0; from < events.length; from += EVENTS_AT_ONCE_MAX) {
    const batch = events.slice(from, from + EVENTS_AT_ONCE_MAX);
    const rows = batch.map((event) => ({
      ...event,
      payload: storableJson(event.payload),
      actor: event.actor && storableJson(event.actor),
    }));
    const deliveries = deliveriesOf(batch);
    if (deliveries === undefined) await db.insertInto("event").values(rows).execute();
    else {
      const inserted = await db
        .with("written", (cte) => cte.insertInto("event").values(rows))
        .insertInto("notification_delivery")
        .columns(["uuid", "team_id", "kind", "event"])
        .expression(deliveries)
        .returning("id")
        .execute();
      hasDeliveries ||= inserted.length > 0;
    }
  }
  return hasDeliveries;
}

/** A statement may have at most 65,535 parameters. */
const EVENTS_AT_ONCE_MAX = 5000;

/** Guards a `where id = `: an impossible id matches nothing. */
export const isId = (id: number): boolean => Number.isSafeInteger(id) && id >= 0;

/** For a `where id in`: one statement text, and therefore one plan, for any number of ids. */
export const idsOf = (ids: readonly number[]) => sql<number>`(select unnest(${ids}::bigint[]))`;

/** Returns `undefined` for errors that `isExpected` accepts. */
export async function undefinedOn<T>(
  isExpected: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}
