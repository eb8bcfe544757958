import { parseUrlList } from "../application/domain.ts";
import type { Compose } from "../compose/parse.ts";
import type { WantedUrl } from "../compose/wanted-urls.ts";
import type { DomainClaim, ServerRecord } from "../ports/records.ts";
import { type ContainerClaims, generatedLabel, generatedServiceUrl } from "./service-url.ts";

export interface UrlPlan {
  /** Claims of the containers whose URLs change. */
  readonly claims: ContainerClaims;
  /** Each URL that the compose file asks for, with its new value. */
  readonly urls: readonly PlannedUrl[];
}

interface PlannedUrl {
  readonly wanted: WantedUrl;
  readonly url: string | null;
  /** Its container's URLs change. */
  readonly isChanged: boolean;
}

export interface UrlPlanInput {
  readonly requested: ContainerClaims;
  /** Otherwise only the requested URLs change. */
  readonly isNewCompose: boolean;
  /** URLs of the containers that existed before. */
  readonly current: ContainerClaims;
  /** Whether the compose file named the URL before: if it was removed since, it is not generated again. */
  readonly isNamedBefore: (wanted: WantedUrl) => boolean;
}

/** What generated URLs are made from. */
export interface PlannedService {
  readonly uuid: string;
  readonly server: Pick<ServerRecord, "ip" | "settings">;
}

/**
 * The URLs of a service's containers: the requested ones, else the current ones. A URL is generated when the compose
 * file names it for the first time, and for a new container; generated URLs follow the compose file.
 */
export function planUrls(
  { urls: wanted, containers }: Pick<Compose, "urls" | "containers">,
  service: PlannedService,
  input: UrlPlanInput,
): UrlPlan {
  const { requested, current } = input;
  const claims = new Map(requested);
  for (const { name, kind } of input.isNewCompose ? containers : []) {
    if (claims.has(name)) continue;
    const own = wanted.filter(({ container }) => container === name);
    const next = kind === "database" ? [] : nextClaims(name, own, service, input);
    if (joined(next) !== joined(current.get(name) ?? [])) claims.set(name, next);
  }
  const urls = containers.flatMap(({ name }) => {
    const own = wanted.filter(({ container }) => container === name);
    const urlOf = assigned(own, claims.get(name) ?? current.get(name) ?? [], service.uuid);
    return own.map((one) => ({ wanted: one, url: urlOf.get(one) ?? null, isChanged: claims.has(name) }));
  });
  // A URL variable without a container still has a value.
  const others = wanted.filter(({ container }) => container === null);
  const leadingNowhere = others.map((one) => ({
    wanted: one,
    url: generatedServiceUrl(one, service.server, service.uuid),
    isChanged: false,
  }));
  return { claims, urls: [...urls, ...leadingNowhere] };
}

function nextClaims(
  container: string,
  own: readonly WantedUrl[],
  { uuid, server }: PlannedService,
  { current, isNamedBefore }: UrlPlanInput,
): readonly DomainClaim[] {
  const before = current.get(container);
  const chosen = (before ?? []).filter(({ host }) => !isGenerated(host, uuid));
  const made = own.flatMap((wanted) => {
    const label = labelOf(wanted, uuid);
    const known = before?.find(({ host }) => isOfLabel(host, label)) ?? movedFrom(current, label, wanted);
    if (known !== undefined) return [sameHost(known, wanted)];
    const isNew = before === undefined || !isNamedBefore(wanted);
    return isNew ? [generatedServiceUrl(wanted, server, uuid)] : [];
  });
  return parseUrlList([...chosen.map(({ url }) => url), ...made].join()).claims;
}

/** The claim of another container, which had the URL before the compose file changed. */
const movedFrom = (current: ContainerClaims, label: string, { path }: WantedUrl): DomainClaim | undefined =>
  [...current.values()].flat().find((claim) => isOfLabel(claim.host, label) && claim.path === plainPath(path));

/** The generated URL, with the port and path of the current compose file. */
function sameHost({ url }: DomainClaim, { port, path }: WantedUrl): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}${port === null ? "" : `:${port}`}${path}`;
}

/**
 * The claim of each URL variable: the one generated for it, else the others in their order, and the first one for the
 * rest.
 */
function assigned(own: readonly WantedUrl[], claims: readonly DomainClaim[], uuid: string) {
  const made = new Map(
    own.flatMap((wanted) => {
      const ofLabel = claims.filter(({ host }) => isOfLabel(host, labelOf(wanted, uuid)));
      const claim = ofLabel.find(({ path }) => path === plainPath(wanted.path)) ?? ofLabel[0];
      return claim === undefined ? [] : [[wanted, claim] as const];
    }),
  );
  const others = claims.filter((claim) => ![...made.values()].includes(claim));
  const rest = own.filter((wanted) => !made.has(wanted));
  return new Map([
    ...[...made].map(([wanted, { url }]) => [wanted, url] as const),
    ...rest.map((wanted, index) => [wanted, (others[index] ?? others[0] ?? claims[0])?.url ?? null] as const),
  ]);
}

const labelOf = ({ name, label }: WantedUrl, uuid: string): string => generatedLabel(label ?? name, uuid);
/** The form of paths in claims. */
const plainPath = (path: string): string => `/${path.split("/").filter(Boolean).join("/")}`;
const isOfLabel = (host: string, label: string): boolean => host.startsWith(`${label}.`);
const isGenerated = (host: string, uuid: string): boolean => host.split(".", 1)[0]?.endsWith(`-${uuid}`) === true;
const joined = (claims: readonly DomainClaim[]): string => claims.map(({ url }) => url).join();
