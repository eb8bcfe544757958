import {
  type DomainClaim,
  type DomainConflict,
  domainConflictError,
  domainConflicts,
  holderConflict,
  invalid,
  parseUrlList,
  type Scope,
  type Stores,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";

/** @throws DomainError `request.invalid` with a sentence for each wrong URL */
export function readDomains(text: string | null | undefined): readonly DomainClaim[] {
  const { claims, problems } = parseUrlList(text ?? "");
  if (problems.length > 0) throw invalid({ domains: problems });
  return claims;
}

export interface WantedDomains {
  readonly claims: readonly DomainClaim[];
  readonly isForced: boolean;
  /** The resource that shall hold them; what it holds already is no conflict. */
  readonly resourceId?: number | undefined;
  /** Of a preview of the resource. */
  readonly pullRequestId?: number | undefined;
  /** Of a service: its containers whose claims these replace. */
  readonly containerIds?: readonly number[] | undefined;
}

type DomainContext = Pick<UseCaseContext, "instanceUrl"> & { readonly scope: Pick<Scope, "teamId"> };

/** @throws DomainError `domain.conflict` that tells who holds what */
export async function requireFreeDomains(
  { scope, instanceUrl }: DomainContext,
  stores: Stores,
  { claims, isForced, resourceId, pullRequestId = 0, containerIds }: WantedDomains,
): Promise<void> {
  if (claims.length === 0) return;
  const holders = await stores.domains.holders(
    claims,
    resourceId === undefined ? undefined : { resourceId, pullRequestId, containerIds },
  );
  const refusal = domainConflictError(
    domainConflicts({ claims, holders, teamId: scope.teamId, instanceUrl }),
    isForced,
  );
  if (refusal) throw refusal;
}

/**
 * Inside the transaction that makes or changes the resource. Answers what lost its URL to it.
 * @throws DomainError `domain.conflict` when another request was faster
 */
export async function claimDomains(
  { scope }: DomainContext,
  inside: Stores,
  resourceId: number,
  { claims, isForced, pullRequestId = 0, containerIds }: WantedDomains,
): Promise<DomainConflict[]> {
  const holder = { resourceId, pullRequestId, containerIds };
  const { overridden } = await inside.domains.claim(holder, claims, { takeFromOwnTeam: isForced });
  return overridden.map((holder) => holderConflict(holder, scope.teamId));
}
