import { invalid } from "@berth/core";
import {
  type ApplicationSettings,
  type DomainConflict,
  domainConflictError,
  domainConflicts,
  holderConflict,
  parseUrlList,
} from "@berth/core/application";
import type { DomainClaim, ServerRecord, Stores } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { followLostUrls } from "./lost-url.ts";

/** @throws DomainError `request.invalid` with a sentence for each invalid URL */
export function readDomains(text: string | null | undefined): readonly DomainClaim[] {
  const { claims, problems } = parseUrlList(text ?? "");
  if (problems.length > 0) throw invalid({ domains: problems });
  return claims;
}

/** @throws DomainError `request.invalid` for URLs that the server's proxy has no certificates for */
export function requireServable(
  { servesHttps, urlProblem }: Pick<UseCaseContext, "servesHttps" | "urlProblem">,
  claims: readonly DomainClaim[],
  server: ServerRecord,
): void {
  const unserved = servesHttps(server) ? [] : claims.filter(({ url }) => url.startsWith("https:"));
  if (unserved.length === 0) return;
  const remedy =
    "Use http:// here, behind a TLS proxy of your own where that is needed, or a server with Docker, which gets certificates.";
  const reason = `server ${server.name} has no certificates. ${remedy}`;
  throw invalid({
    domains: unserved.map(({ url }) => urlProblem(url, server.id) ?? `${url} cannot be served: ${reason}`),
  });
}

type ComposeDomains = ApplicationSettings["docker_compose_domains"];

/**
 * The URLs that a request sets for an application or for its containers; `undefined`: unchanged.
 * @throws DomainError `request.invalid`
 */
export function requestedDomains(
  sent: {
    readonly domains?: string | null | undefined;
    readonly docker_compose_domains?: ComposeDomains | undefined;
    readonly force_domain_override?: boolean | undefined;
  },
  hasContainers: boolean,
): readonly DomainClaim[] | undefined {
  const isOfContainers = hasContainers && sent.docker_compose_domains !== undefined;
  if (!isOfContainers) return sent.domains === undefined ? undefined : readDomains(sent.domains);
  return readComposeDomains(sent.docker_compose_domains ?? null, sent.force_domain_override ?? false);
}

/** @throws DomainError `request.invalid` with a sentence for each invalid or repeated URL */
function readComposeDomains(items: ComposeDomains, isForced: boolean): readonly DomainClaim[] {
  const read = (items ?? []).map(({ name, domain }) => ({ name, ...parseUrlList(domain ?? "") }));
  const claims = read.flatMap(({ name, claims: own }) => own.map((claim) => ({ ...claim, container: name })));
  const byPlace = new Map(claims.toReversed().map((claim) => [`${claim.host}${claim.path}`, claim]));
  const twice = isForced ? [] : claims.filter((claim) => !new Set(byPlace.values()).has(claim));
  const problems = [
    ...read.flatMap((one) => one.problems),
    ...twice.map(({ url }) => `The URL ${url} is listed twice.`),
  ];
  if (problems.length > 0) throw invalid({ docker_compose_domains: problems });
  return claims.filter((claim) => byPlace.get(`${claim.host}${claim.path}`) === claim);
}

export interface WantedDomains {
  readonly claims: readonly DomainClaim[];
  readonly isForced: boolean;
  /** The future holder; its own claims are no conflict. */
  readonly resourceId?: number | undefined;
  /** Set for a preview of the resource. */
  readonly pullRequestId?: number | undefined;
  /** Containers of a service whose claims are replaced. */
  readonly containerIds?: readonly number[] | undefined;
}

type DomainContext = Pick<UseCaseContext, "instanceUrl"> & { readonly scope: Pick<Scope, "teamId"> };

/** @throws DomainError `domain.conflict` with the URLs and their holders */
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
 * Must run in the transaction that creates or changes the resource. Returns the resources that lost a URL to it.
 * @throws DomainError `domain.conflict` if another request was faster
 */
export async function claimDomains(
  context: Pick<UseCaseContext, "publicUrl"> & Pick<DomainContext, "scope">,
  tx: Stores,
  resourceId: number,
  { claims, isForced, pullRequestId = 0, containerIds }: WantedDomains,
): Promise<DomainConflict[]> {
  const holder = { resourceId, pullRequestId, containerIds };
  const { overridden } = await tx.domains.claim(holder, claims, { takeFromOwnTeam: isForced });
  const lost = overridden.map((holder) => holderConflict(holder, context.scope.teamId));
  await followLostUrls(context, tx, lost);
  return lost;
}
