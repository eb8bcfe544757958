import type { ApplicationSettings } from "@berth/core/application";
import type { SystemWebhookStore, WebhookDelivery } from "@berth/core/ports";
import { PUSH_SETTINGS } from "@berth/core/webhook";
import { type Kysely, sql } from "kysely";
import { applicationRecord, openApplicationSecrets, selectBareApplications } from "./application.ts";
import { idsOf, isId, type StoreContext } from "./context.ts";
import { openSecrets } from "./github-app.ts";
import type { DB } from "./schema.ts";

export function systemWebhookStore(context: StoreContext): SystemWebhookStore {
  const { db } = context;
  return {
    async applicationsByRepository(keys) {
      const rows = await candidates(db)
        .select("application.secrets")
        .where("application.repository_key", "in", sql<string>`(select unnest(${keys}::text[]))`)
        .where("application.github_app_id", "is", null)
        .execute();
      return rows.map(({ secrets, ...row }) => ({
        application: applicationRecord(row),
        secrets: openApplicationSecrets(context, row.uuid, secrets),
      }));
    },
    async githubApps(appId) {
      if (!isId(appId)) return [];
      const rows = await db
        .selectFrom("github_app")
        .select(["id", "uuid", "secrets"])
        .where("app_id", "=", appId)
        .orderBy("id")
        .limit(CANDIDATES_MAX)
        .execute();
      return rows.map(({ id, uuid, secrets }) => {
        const { webhook_secret } = openSecrets(context, uuid, secrets);
        return { id, webhook_secret };
      });
    },
    async applicationsByGithubApp(githubAppIds, repositoryId) {
      if (!isId(repositoryId)) return [];
      const rows = await candidates(db)
        .where("application.github_app_id", "in", idsOf(githubAppIds))
        .where("application.repository_project_id", "=", repositoryId)
        .execute();
      return rows.map(applicationRecord);
    },
    async begin(delivery) {
      const begun = await db
        .insertInto("webhook_delivery")
        .values(keyOf(delivery))
        // Waits for the end of another transaction that processes the delivery.
        .onConflict((conflict) => conflict.doNothing())
        .returning("created_at")
        .executeTakeFirst();
      if (begun !== undefined) {
        await forgetOld(db);
        return undefined;
      }
      // Two repetitions are answered one after the other: the later one sees what the earlier one did.
      const { answer } = await rowOf(db, delivery).select("answer").forUpdate().executeTakeFirstOrThrow();
      return answer ?? [];
    },
    async remember(delivery, answer) {
      const { provider, owner, delivery_id } = keyOf(delivery);
      await db
        .updateTable("webhook_delivery")
        .set({ answer: JSON.stringify(answer) })
        .where("provider", "=", provider)
        .where("owner", "=", owner)
        .where("delivery_id", "=", delivery_id)
        .execute();
    },
  };
}

/** Far more than real repositories have. */
const CANDIDATES_MAX = 1000;

const SETTINGS = sql<Partial<ApplicationSettings>>`(
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(application.settings)
  where key in (${sql.join(PUSH_SETTINGS.map((name) => sql.lit(name)))}))`;

const candidates = (db: Kysely<DB>) =>
  selectBareApplications(db)
    .select(SETTINGS.as("settings"))
    .where("application.source", "=", sql.lit("git" as const))
    .where("resource.removing_at", "is", null)
    .orderBy("resource.id")
    .limit(CANDIDATES_MAX);

const keyOf = ({ provider, owner, id }: WebhookDelivery) => ({ provider, owner, delivery_id: id });

function rowOf(db: Kysely<DB>, delivery: WebhookDelivery) {
  const { provider, owner, delivery_id } = keyOf(delivery);
  return db
    .selectFrom("webhook_delivery")
    .where("provider", "=", provider)
    .where("owner", "=", owner)
    .where("delivery_id", "=", delivery_id);
}

/** More than arrive at once, so that the table never keeps more than a week. */
const FORGOTTEN_AT_ONCE = 100;

async function forgetOld(db: Kysely<DB>): Promise<void> {
  await sql`delete from webhook_delivery where ctid = any(array(
    select ctid from webhook_delivery where created_at < now() - interval '7 days'
    order by created_at limit ${FORGOTTEN_AT_ONCE} for update skip locked))`.execute(db);
}
