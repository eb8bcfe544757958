import type { DomainClaim } from "@berth/core/ports";

/** URLs as passed to programs: those that a browser can open. */
export const withPublicUrls = (
  domains: readonly DomainClaim[],
  proxy: { publicUrl(url: string): string },
): readonly DomainClaim[] => domains.map((claim) => ({ ...claim, public_url: proxy.publicUrl(claim.url) }));
