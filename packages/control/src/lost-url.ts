import { type DomainConflict, parseUrlList } from "@berth/core/application";
import { parseCompose } from "@berth/core/compose";
import type { Stores } from "@berth/core/ports";
import { changedUrlValues, planUrls } from "@berth/core/service";
import type { UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";

type UrlContext = Pick<UseCaseContext, "publicUrl">;

/**
 * Updates URL variables of services that lost a URL to another resource, as if the URL was changed: a container with
 * the old value would send people to that resource. Must run in the transaction that moved the URL.
 */
export async function followLostUrls(context: UrlContext, tx: Stores, lost: readonly DomainConflict[]): Promise<void> {
  const byService = Map.groupBy(
    lost.filter(({ service_name, resource_type }) => resource_type === "service" && service_name !== undefined),
    ({ resource_uuid }) => resource_uuid,
  );
  for (const [uuid, conflicts] of byService) {
    if (uuid !== null)
      await follow(context, tx, uuid, new Set(conflicts.map(({ service_name }) => service_name ?? "")));
  }
}

async function follow({ publicUrl }: UrlContext, tx: Stores, uuid: string, losing: ReadonlySet<string>): Promise<void> {
  const service = await tx.services.find(uuid);
  const server = service && (await tx.servers.findById(service.server_id));
  if (service === undefined || server === undefined) return;
  const compose = parseCompose((await tx.services.secrets(service.id)).docker_compose_raw);
  // The service's next change reports the problems.
  if ("problems" in compose) return;
  const containers = await tx.services.containers([service.id]);
  const current = new Map(containers.map(({ name, fqdn }) => [name, parseUrlList(fqdn ?? "").claims]));
  const requested = new Map([...current].filter(([name]) => losing.has(name)));
  const input = { requested, current, isNewCompose: false, isNamedBefore: () => true };
  const { urls } = planUrls(compose, { uuid, server }, input);
  const { items: envs } = await tx.envs.list(service.id);
  const values = changedUrlValues(
    urls,
    envs.map(({ key }) => key),
    (url) => publicUrl(url, server.id),
  );
  const keys: string[] = [];
  for (const { uuid: env, key, value: before } of envs) {
    const value = values.get(key);
    if (value === undefined || value === before) continue;
    await tx.envs.update(service.id, env, { value });
    keys.push(key);
  }
  if (keys.length > 0) await emitResourceEvent(tx, service, "resource.variables_changed", { keys });
}
