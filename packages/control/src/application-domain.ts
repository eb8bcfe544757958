import type { ApplicationUpdate } from "@berth/core/application";
import { composeNames, liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, DomainClaim, Stores } from "@berth/core/ports";
import { hasProxy } from "@berth/core/server";
import { serversOf } from "./application-server.ts";
import type { UseCaseContext } from "./context.ts";
import { requestedDomains, requireServable } from "./domain.ts";

/** The URLs of a change, except those that cannot be stored. */
export interface ChangedDomains {
  readonly sent: ApplicationUpdate;
  /** `undefined`: unchanged. */
  readonly claims: readonly DomainClaim[] | undefined;
  /** The omitted URLs, and why. */
  readonly message?: string;
}

/**
 * Reads the URL changes of an application. URLs of containers must name containers of the compose file, which are
 * known after a deployment has read it. Without a proxy on the server, URLs of an application stay unchanged.
 * @throws DomainError `request.invalid`
 */
export async function changedDomains(
  context: Pick<UseCaseContext, "stores" | "servesHttps" | "urlProblem">,
  current: ApplicationRecord,
  sent: ApplicationUpdate,
): Promise<ChangedDomains> {
  const { stores } = context;
  const hadContainers = current.settings.build_pack === "dockercompose";
  const hasContainers = (sent.build_pack ?? current.settings.build_pack) === "dockercompose";
  if (hasContainers && sent.docker_compose_domains) return await ofContainers(stores, current, sent);
  const claims = requestedDomains(sent, hasContainers);
  if (claims === undefined) {
    // Without containers, their URLs are removed.
    return { sent, claims: hadContainers && !hasContainers ? [] : undefined };
  }
  const servers = await serversOf(stores, current);
  for (const each of servers) requireServable(context, claims, each);
  const [server] = servers;
  if (server === undefined || hasProxy(server) || hasContainers) return { sent, claims };
  return { sent, claims: undefined, message: `Server ${server.name} has no proxy, so the domains are unchanged.` };
}

async function ofContainers(stores: Stores, current: ApplicationRecord, sent: ApplicationUpdate) {
  const live = await stores.releases.live(liveKeyOf(current));
  const names = live && composeNames(live.artifact);
  const items = sent.docker_compose_domains ?? [];
  const unknown = names === undefined ? [] : items.filter(({ name }) => !names.includes(name));
  const known = { ...sent, docker_compose_domains: items.filter((item) => !unknown.includes(item)) };
  const claims = requestedDomains(known, true);
  if (unknown.length === 0) return { sent, claims };
  const left = unknown.map(({ name }) => name).join(", ");
  return { sent: known, claims, message: `The compose file has no service ${left}: its domains were left out.` };
}
