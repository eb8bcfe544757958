import type { ApplicationCreateCompose, CreatedApplication } from "@berth/core/application";
import type { UseCaseContext } from "./context.ts";
import { createService } from "./service-create.ts";

/** A compose file is a service: what old clients ask for as an application is made as one. */
export async function createCompose(
  context: UseCaseContext,
  { type: _, ...sent }: ApplicationCreateCompose,
): Promise<CreatedApplication> {
  const { uuid, domains, overridden } = await createService(context).create(sent);
  return { uuid, fqdn: domains.join(",") || null, ...(overridden && { overridden }) };
}
