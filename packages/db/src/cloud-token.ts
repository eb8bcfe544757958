import { OriginCredential, originOf } from "@berth/core";
import type { CloudTokenStore } from "@berth/core/ports";
import { CLOUD_PROVIDERS, type CloudProviderKind } from "@berth/core/server";
import { sql } from "kysely";
import { type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, ofOwner, page, within } from "./page.ts";

const COLUMNS = [
  "cloud_token.id",
  "cloud_token.uuid",
  "cloud_token.team_id",
  "cloud_token.provider",
  "cloud_token.name",
  "cloud_token.created_at",
  "cloud_token.updated_at",
] as const;

const SERVERS_COUNT = sql<number>`(select count(*) from server
  where server.cloud_provider_token_id = cloud_token.id)`.as("servers_count");

const place = (uuid: string) => `cloud_token ${uuid} token`;

export function cloudTokenStore({ db, teamId, cipher }: TeamContext): CloudTokenStore {
  const all = () => db.selectFrom("cloud_token");
  const own = () => all().where("team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => {
          const query = all().select(COLUMNS).select(SERVERS_COUNT);
          const owned = { owner: "cloud_token.team_id", is: teamId, id: "cloud_token.id" } as const;
          return within(ofOwner(query, owned), window).execute();
        },
        () => countRows(own()),
      ),
    find: (uuid) => own().select(COLUMNS).select(SERVERS_COUNT).where("uuid", "=", uuid).executeTakeFirst(),
    async insert({ token, url, ...fields }) {
      const row = await db
        .insertInto("cloud_token")
        .values({
          uuid: fields.uuid,
          provider: fields.provider,
          name: fields.name,
          team_id: teamId,
          token: cipher.seal(`${originOf(url)} ${token}`, place(fields.uuid)),
        })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow();
      return { ...row, servers_count: 0 };
    },
    update: (uuid, { name }) =>
      db
        .updateTable("cloud_token")
        .set({ name, updated_at: sql<Date>`now()` })
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .returning(COLUMNS)
        .returning(SERVERS_COUNT)
        .executeTakeFirst(),
    async secret(uuid) {
      const row = await own().select(["provider", "token"]).where("uuid", "=", uuid).executeTakeFirst();
      return row && credentialOf(row.provider, cipher.open(row.token, place(uuid)));
    },
    async deleteIfUnused(uuid) {
      // The foreign key prevents that a server created at the same moment loses its token.
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("cloud_token")
          .where("team_id", "=", teamId)
          .where("uuid", "=", uuid)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("server")
                  .select("server.id")
                  .whereRef("server.cloud_provider_token_id", "=", "cloud_token.id"),
              ),
            ),
          )
          .executeTakeFirst(),
      );
      return deleted !== undefined && deleted.numDeletedRows > 0n;
    },
  };
}

/** Its origin and the token, which has no space. Older releases stored the token alone, of the provider's own address. */
function credentialOf(provider: CloudProviderKind, sealed: string): OriginCredential<string> {
  const [token = "", origin = CLOUD_PROVIDERS[provider].url] = sealed.split(" ").toReversed();
  return new OriginCredential([origin], token);
}
