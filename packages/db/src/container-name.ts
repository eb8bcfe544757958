import { DomainError } from "@berth/core";
import { lastingContainerName } from "@berth/core/application";
import type { ApplicationRecord } from "@berth/core/ports";
import type { TeamContext } from "./context.ts";
import { violates } from "./errors.ts";

/**
 * Reserves the name of an application's container on its server. Only in a transaction.
 * @throws DomainError `resource.already_exists`
 */
export async function claimContainerName(
  { db }: TeamContext,
  application: Pick<ApplicationRecord, "id" | "uuid" | "server_id" | "settings">,
): Promise<void> {
  const { id, server_id } = application;
  const name = lastingContainerName(application);
  if (name === undefined) return void (await db.deleteFrom("container_name").where("resource_id", "=", id).execute());
  // Databases, and applications without a chosen name, use their uuid as host name.
  const namesake = await db
    .selectFrom("resource")
    .select("id")
    .where("uuid", "=", name)
    .where("server_id", "=", server_id)
    .where("id", "!=", id)
    .executeTakeFirst();
  if (namesake !== undefined) throw taken(name);
  await db
    .insertInto("container_name")
    .values({ resource_id: id, server_id, name })
    .onConflict((conflict) => conflict.column("resource_id").doUpdateSet({ name, server_id }))
    .execute()
    .catch((cause: unknown) => {
      throw violates(cause, "container_name_taken") ? taken(name, cause) : cause;
    });
}

function taken(name: string, cause?: unknown): DomainError {
  const sentence = `The name ${name} is taken by another resource of this server. Choose another custom_internal_name.`;
  return new DomainError("resource.already_exists", sentence, { fields: { custom_internal_name: [sentence] }, cause });
}
