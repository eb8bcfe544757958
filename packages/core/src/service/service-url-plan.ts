import { parseUrlList } from "../application/domain.ts";
import type { Compose } from "../compose/parse.ts";
import type { WantedUrl } from "../compose/wanted-urls.ts";
import type { DomainClaim, ServerRecord } from "../ports/records.ts";
import { type ContainerClaims, generatedLabel, generatedServiceUrl } from "./service-url.ts";

export interface UrlPlan {
  /** Claims of the containers whose URLs change. */
  readonly claims: ContainerClaims;
  /** For each URL that the compose text asks for, where it leads to from now on. */
  readonly urls: readonly PlannedUrl[];
}

interface PlannedUrl {
  readonly wanted: WantedUrl;
  readonly url: string | null;
  /** It belongs to a container whose URLs change. */
  readonly isChanged: boolean;
}

export interface UrlPlanInput {
  readonly requested: ContainerClaims;
  /** Else only what was requested changes. */
  readonly isNewCompose: boolean;
  /** URLs of the containers that were there before. */
  readonly current: ContainerClaims;
  /** Whether the compose text named the URL before: what was taken away then is not made again. */
  readonly isNamedBefore: (wanted: WantedUrl) => boolean;
}

interface PlannedService {
  readonly uuid: string;
  readonly server: Pick<ServerRecord, "ip" | "settings">;
}

/**
 * What URLs the containers of a service get: those that were asked for, else those they have. One is made for each that
 * the compose text names for the first time, and for a new container; those that were made follow the text.
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
  // A name that leads to none of the containers still has a value.
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

/** The claim of another container, which the text gave the URL before. */
const movedFrom = (current: ContainerClaims, label: string, { path }: WantedUrl): DomainClaim | undefined =>
  [...current.values()].flat().find((claim) => isOfLabel(claim.host, label) && claim.path === plainPath(path));

/** The URL that was made before, with the port and path that the text says now. */
function sameHost({ url }: DomainClaim, { port, path }: WantedUrl): string {
  const { protocol, hostname } = new URL(url);
  return `${protocol}//${hostname}${port === null ? "" : `:${port}`}${path}`;
}

/** Which URL each name stands for: one that was made for it, else the others in their order, and the first for the rest. */
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
/** As claims have it. */
const plainPath = (path: string): string => `/${path.split("/").filter(Boolean).join("/")}`;
const isOfLabel = (host: string, label: string): boolean => host.startsWith(`${label}.`);
const isGenerated = (host: string, uuid: string): boolean => host.split(".", 1)[0]?.endsWith(`-${uuid}`) === true;
const joined = (claims: readonly DomainClaim[]): string => claims.map(({ url }) => url).join();
