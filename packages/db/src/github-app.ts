import { notFound } from "@berth/core";
import type { GithubAppFields, GithubAppRecord, GithubAppSecrets, GithubAppStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, isId, type StoreContext, type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";

const FIELDS = [
  "name",
  "organization",
  "api_url",
  "html_url",
  "custom_user",
  "custom_port",
  "app_id",
  "installation_id",
  "client_id",
  "is_system_wide",
  "private_key_id",
] as const;

const COLUMNS = ["id", "uuid", "team_id", ...FIELDS, "created_at", "updated_at"] as const;

export function githubAppStore(context: TeamContext): GithubAppStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("github_app").where("github_app.team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) =>
          within(
            ofOwner(db.selectFrom("github_app").select(COLUMNS), {
              owner: "github_app.team_id",
              is: teamId,
              id: "github_app.id",
            }),
            window,
          ).execute(),
        () => countRows(own()),
      ),
    find: async (id) => (isId(id) ? await own().select(COLUMNS).where("id", "=", id).executeTakeFirst() : undefined),
    findByUuid: (uuid) => own().select(COLUMNS).where("uuid", "=", uuid).executeTakeFirst(),
    insert: (app, secrets) =>
      inTransaction(context, async (tx) => {
        await requireOwnKey(tx, app);
        const { rows } = await sql<{ uuid: string }>`select gen_random_uuid()::text as uuid`.execute(tx.db);
        const uuid = rows[0]?.uuid ?? "";
        return await tx.db
          .insertInto("github_app")
          .values({ ...pick(app, FIELDS), uuid, team_id: teamId, secrets: sealSecrets(tx, uuid, secrets) })
          .returning(COLUMNS)
          .executeTakeFirstOrThrow();
      }),
    update: (id, change, secrets) => inTransaction(context, (tx) => update(tx, id, change, secrets)),
    async deleteIfUnused(id) {
      if (!isId(id)) return "missing";
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("github_app")
          .where("id", "=", id)
          .where("team_id", "=", teamId)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("application")
                  .select("application.resource_id")
                  .whereRef("application.github_app_id", "=", "github_app.id"),
              ),
            ),
          )
          .executeTakeFirst(),
      );
      if (deleted !== undefined && deleted.numDeletedRows > 0n) return "deleted";
      const app = await own().select("id").where("id", "=", id).executeTakeFirst();
      return app === undefined ? "missing" : "used";
    },
  };
}

async function update(
  context: TeamContext,
  id: number,
  change: Partial<GithubAppFields>,
  secrets: Partial<GithubAppSecrets>,
): Promise<GithubAppRecord | undefined> {
  if (!isId(id)) return undefined;
  await requireOwnKey(context, change);
  const { db, teamId } = context;
  const current = await db
    .selectFrom("github_app")
    .select(["uuid", "secrets"])
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (current === undefined) return undefined;
  const { uuid } = current;
  const merged = { ...openSecrets(context, uuid, current.secrets), ...secrets };
  return await db
    .updateTable("github_app")
    .set({ ...pick(change, FIELDS), secrets: sealSecrets(context, uuid, merged), updated_at: sql<Date>`now()` })
    .where("id", "=", id)
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** The foreign key alone would allow keys of other teams. */
async function requireOwnKey(
  { db, teamId }: TeamContext,
  { private_key_id }: Pick<Partial<GithubAppFields>, "private_key_id">,
): Promise<void> {
  if (private_key_id === undefined) return;
  const key = await db
    .selectFrom("private_key")
    .select("id")
    .where("id", "=", private_key_id)
    .where("team_id", "=", teamId)
    .executeTakeFirst();
  if (key === undefined) throw notFound("Private Key");
}

const place = (uuid: string) => `github_app ${uuid} secrets`;

const sealSecrets = ({ cipher }: StoreContext, uuid: string, secrets: GithubAppSecrets): Uint8Array =>
  cipher.seal(JSON.stringify(secrets), place(uuid));

/** Encrypted by this package from the same type, and authenticated. */
export const openSecrets = ({ cipher }: StoreContext, uuid: string, sealed: Uint8Array): GithubAppSecrets =>
  JSON.parse(cipher.open(sealed, place(uuid)));
