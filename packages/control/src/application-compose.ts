import type { ApplicationCreateCompose, CreatedApplication } from "@berth/core/application";
import type { UseCaseContext } from "./context.ts";
import { createService } from "./service-create.ts";

/** Creates a service, since a compose file is one: old clients ask for an application instead. */
export async function createCompose(
  context: UseCaseContext,
  { type: _, ...sent }: ApplicationCreateCompose,
): Promise<CreatedApplication> {
  const { uuid, domains, overridden } = await createService(context).create(sent);
  return { uuid, fqdn: domains.join(",") || null, ...(overridden && { overridden }) };
}
