import { type ChannelKind, type ChannelSettings, storedSettings } from "@berth/core/notification";
import type { NotificationStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";

export const DELIVERY_COLUMNS = [
  "notification_delivery.id",
  "notification_delivery.uuid",
  "notification_delivery.team_id",
  "notification_delivery.kind",
  "notification_delivery.event",
  "notification_delivery.state",
  "notification_delivery.attempts",
  "notification_delivery.error",
  "notification_delivery.next_attempt_at",
  "notification_delivery.created_at",
  "notification_delivery.ended_at",
] as const;

export function notificationStore(context: TeamContext): NotificationStore {
  const { db, teamId } = context;
  const channel = (kind: ChannelKind) =>
    db.selectFrom("notification_channel").select("settings").where("team_id", "=", teamId).where("kind", "=", kind);
  return {
    async settings(kind) {
      return openSettings(context, teamId, kind, (await channel(kind).executeTakeFirst())?.settings);
    },
    async settingsForUpdate(kind) {
      // There may be no row to lock yet.
      await sql`select from team where id = ${teamId} for no key update`.execute(db);
      return openSettings(context, teamId, kind, (await channel(kind).executeTakeFirst())?.settings);
    },
    async save(kind, { isEnabled, events, settings }) {
      await inTransaction(context, async (tx) => {
        const sealed = tx.cipher.seal(JSON.stringify(settings), placeOf(teamId, kind));
        const change = { is_enabled: isEnabled, events: [...events], settings: sealed };
        await tx.db
          .insertInto("notification_channel")
          .values({ team_id: teamId, kind, ...change })
          .onConflict((conflict) =>
            conflict.columns(["team_id", "kind"]).doUpdateSet({ ...change, updated_at: sql<Date>`now()` }),
          )
          .execute();
      });
    },
    deliveries({ kind, state }, paging = {}) {
      let own = db.selectFrom("notification_delivery").where("team_id", "=", teamId);
      if (kind !== undefined) own = own.where("kind", "=", kind);
      if (state !== undefined) own = own.where("state", "=", state);
      const newestFirst = {
        owner: "notification_delivery.team_id",
        is: teamId,
        id: "notification_delivery.id",
        direction: "desc",
      } as const;
      return page(
        paging,
        (window) => within(ofOwner(own.select(DELIVERY_COLUMNS), newestFirst), window).execute(),
        // Ended deliveries are pruned, so the index is small enough to count.
        () => countRows(own),
      );
    },
    memberAddresses: () => memberAddresses(context, teamId),
  };
}

export async function memberAddresses({ db }: Pick<StoreContext, "db">, teamId: number): Promise<readonly string[]> {
  const members = await db
    .selectFrom("team_member")
    .innerJoin("user", "user.id", "team_member.user_id")
    .select("user.email")
    .where("team_member.team_id", "=", teamId)
    .orderBy("user.id")
    .limit(ADDRESSES_MAX)
    .execute();
  return members.map(({ email }) => email);
}

const ADDRESSES_MAX = 200;

export function openSettings<Kind extends ChannelKind>(
  { cipher }: Pick<StoreContext, "cipher">,
  teamId: number,
  kind: Kind,
  sealed: Uint8Array | undefined,
): ChannelSettings<Kind> {
  return storedSettings(kind, sealed === undefined ? {} : JSON.parse(cipher.open(sealed, placeOf(teamId, kind))));
}

/** The row's uuid is the team and the kind. */
const placeOf = (teamId: number, kind: ChannelKind): string => `notification_channel ${teamId} ${kind} settings`;
