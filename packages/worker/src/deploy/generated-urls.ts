import { type Artifact, composeOf, generatedClaims } from "@berth/core/deploy";
import type { DomainClaim } from "@berth/core/ports";
import { hasProxy } from "@berth/core/server";
import { withPublicUrls } from "../claims.ts";
import type { DeployContext, StepContext } from "./context.ts";

type UrlContext = Pick<DeployContext, "stores" | "subject" | "deployment" | "adapters" | "isFirst"> &
  Pick<StepContext, "say" | "claimed">;

/**
 * Generates the URLs that the built compose file of an application asks for, at its first deployment: settings of it
 * from then on. Those that somebody chose stay, also if they chose to have none.
 */
export async function generateUrls(ctx: UrlContext, artifact: Artifact): Promise<void> {
  const { subject, deployment, adapters, isFirst } = ctx;
  const { server, proxy } = adapters;
  if (artifact.type !== "stack" || subject.kind !== "application" || deployment.pull_request_id !== 0) return;
  const { record } = subject;
  if (!isFirst || !hasProxy(server) || record.server_id !== server.id) return;
  const claims = generatedClaims(composeOf(artifact), { uuid: record.uuid, server });
  if (claims.length === 0) return;
  const isGenerated = await ctx.stores.forTeam(deployment.team_id).transaction(async (tx) => {
    const { settings } = (await tx.applications.find(record.uuid)) ?? record;
    if (settings.build_pack !== "dockercompose" || settings.docker_compose_domains !== null) return false;
    await tx.applications.update(record.id, { settings: { docker_compose_domains: byContainer(claims) } });
    await tx.domains.claim({ resourceId: record.id, pullRequestId: 0 }, claims, { takeFromOwnTeam: false });
    const { uuid, kind, name } = record;
    const payload = { resource_kind: kind, resource_name: name, fields: ["docker_compose_domains"] };
    await tx.events.append({ type: "resource.updated", resource_uuid: uuid, payload });
    return true;
  });
  if (!isGenerated) return;
  ctx.claimed(withPublicUrls(claims, proxy));
  for (const { container, url } of claims) {
    ctx.say(`Generated the URL ${proxy.publicUrl(url)} of ${container}, which the compose file asks for.`);
  }
}

function byContainer(claims: readonly DomainClaim[]) {
  const own = Map.groupBy(claims, ({ container }) => container ?? "");
  return [...own].map(([name, all]) => ({ name, domain: all.map(({ url }) => url).join(",") }));
}
