import type { DomainClaim, SystemStores } from "@berth/core/ports";

/** URLs of an application or of one of its previews; `undefined` when the preview was removed or is being removed. */
export async function claimsOf(
  stores: Pick<SystemStores, "resources" | "previews">,
  resourceId: number,
  pullRequestId: number,
): Promise<readonly DomainClaim[] | undefined> {
  if (pullRequestId === 0) return await stores.resources.domains(resourceId);
  const preview = await stores.previews.find(resourceId, pullRequestId);
  return preview === undefined || preview.removing_at !== null ? undefined : preview.domains;
}

/** URLs as passed to programs: those that a browser can open. */
export const withPublicUrls = (
  domains: readonly DomainClaim[],
  proxy: { publicUrl(url: string): string },
): readonly DomainClaim[] => domains.map((claim) => ({ ...claim, public_url: proxy.publicUrl(claim.url) }));
