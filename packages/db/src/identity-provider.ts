import { DomainError } from "@berth/core";
import type { IdentityStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";
import { violates } from "./errors.ts";
import { pick } from "./pick.ts";

const FIELDS = ["name", "client_id", "sign_up", "sign_up_domains", "team_id", "groups_claim"] as const;
const COLUMNS = ["id", "uuid", ...FIELDS, "group_roles", "kind", "issuer", "created_at", "updated_at"] as const;
const ATTEMPT = [
  "provider_id",
  "redirect_uri",
  "nonce",
  "verifier",
  "linking_user_id",
  "found_user_id",
  "found_subject",
  "expires_at",
] as const;

const place = (uuid: string) => `identity_provider ${uuid} client_secret`;

/** Belongs to the instance, not to a team. */
export function identityStore({ db, cipher }: StoreContext): IdentityStore {
  const providers = () => db.selectFrom("identity_provider").select(COLUMNS);
  return {
    providers: () => providers().orderBy("name").orderBy("id").execute(),
    findProvider: (uuid) => providers().where("uuid", "=", uuid).executeTakeFirst(),
    async providerOf(id) {
      const row = await providers().select("client_secret").where("id", "=", id).executeTakeFirst();
      return row && { ...row, client_secret: cipher.open(row.client_secret, place(row.uuid)) };
    },
    insertProvider: ({ client_secret, group_roles, ...provider }) =>
      db
        .insertInto("identity_provider")
        .values({
          ...pick(provider, ["uuid", "kind", "issuer", ...FIELDS]),
          group_roles: JSON.stringify(group_roles),
          client_secret: cipher.seal(client_secret, place(provider.uuid)),
        })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow(),
    updateProvider: (uuid, { client_secret, group_roles, ...change }) =>
      db
        .updateTable("identity_provider")
        .set({
          ...pick(change, FIELDS),
          ...(group_roles !== undefined && { group_roles: JSON.stringify(group_roles) }),
          ...(client_secret !== undefined && { client_secret: cipher.seal(client_secret, place(uuid)) }),
          updated_at: sql<Date>`now()`,
        })
        .where("uuid", "=", uuid)
        .returning(COLUMNS)
        .executeTakeFirst(),
    async deleteProvider(uuid) {
      const deleted = await db.deleteFrom("identity_provider").where("uuid", "=", uuid).executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },

    async insertAttempt(hash, { redirectUri: redirect_uri, expiresAt: expires_at, ...attempt }) {
      await db.deleteFrom("provider_attempt").where("expires_at", "<=", sql<Date>`now()`).execute();
      await db
        .insertInto("provider_attempt")
        .values({ ...attempt, hash, redirect_uri, expires_at })
        .execute();
    },
    async takeAttempt(hash) {
      const row = await db
        .deleteFrom("provider_attempt")
        .where("hash", "=", hash)
        .where("expires_at", ">", sql<Date>`now()`)
        .returning(ATTEMPT)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { redirect_uri: redirectUri, expires_at: expiresAt, ...attempt } = row;
      return { ...attempt, redirectUri, expiresAt };
    },

    async userOf(providerId, subject) {
      const row = await db
        .selectFrom("identity")
        .select("user_id")
        .where("provider_id", "=", providerId)
        .where("subject", "=", subject)
        .executeTakeFirst();
      return row?.user_id;
    },
    identities: (userId) =>
      db
        .selectFrom("identity")
        .innerJoin("identity_provider", "identity_provider.id", "identity.provider_id")
        .select(["identity.provider_id", "identity.subject", "identity.email", "identity.created_at"])
        .select("identity_provider.name as provider_name")
        .where("identity.user_id", "=", userId)
        .orderBy("identity_provider.name")
        .execute(),
    async insertIdentity(identity) {
      try {
        await db.insertInto("identity").values(identity).execute();
      } catch (error) {
        const isOwn = violates(error, "identity_user");
        if (!isOwn && !violates(error, "identity_pkey")) throw error;
        throw new DomainError(
          "resource.already_exists",
          isOwn
            ? "The user is connected to this provider already. Disconnect that first."
            : "Another user is connected to this identity.",
        );
      }
    },
    async deleteIdentity(userId, providerId) {
      const deleted = await db
        .deleteFrom("identity")
        .where("user_id", "=", userId)
        .where("provider_id", "=", providerId)
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
    async deleteIdentities(userId) {
      await db.deleteFrom("identity").where("user_id", "=", userId).execute();
    },
  };
}
