import type { ServiceRecord } from "@berth/core/ports";
import { type Service, serviceView } from "@berth/core/service";
import { maySeeSecrets } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

type AnswerContext = Pick<UseCaseContext, "scope" | "stores" | "publicUrl">;

/** Views of these services for the caller. */
export async function serviceViews(
  { scope, stores, publicUrl }: AnswerContext,
  services: readonly ServiceRecord[],
): Promise<Service[]> {
  if (services.length === 0) return [];
  const ids = services.map(({ id }) => id);
  const secrets = maySeeSecrets(scope) ? await stores.services.secretsOf(ids) : undefined;
  const containers = Map.groupBy(await stores.services.containers(ids), ({ resource_id }) => resource_id);
  return services.map((service) =>
    serviceView(service, {
      containers: containers.get(service.id) ?? [],
      secrets: secrets?.get(service.id),
      publicUrl: (url) => publicUrl(url, service.server_id),
    }),
  );
}
