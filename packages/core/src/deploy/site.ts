import type { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import { previewName } from "../application/preview.ts";
import type { Site, SiteRoute } from "../ports/proxy.ts";
import type { ApplicationRecord, DomainClaim } from "../ports/records.ts";
import type { DesiredState } from "../resource/resource.ts";
import { labelHeaders } from "./label-headers.ts";
import type { ReleaseState, Upstream } from "./release.ts";
import { mainContainer } from "./stack-state.ts";

export type SiteSettings = Pick<
  ApplicationSettings,
  | "redirect"
  | "noindex_domains"
  | "is_http_basic_auth_enabled"
  | "http_basic_auth_username"
  | "is_force_https_enabled"
  | "is_gzip_enabled"
  | "is_stripprefix_enabled"
>;

/** Input of a site, apart from its current upstreams. */
export interface SiteSubject {
  readonly owner: { readonly uuid: string; readonly name: string };
  readonly settings: SiteSettings;
  readonly secrets: Pick<ApplicationSecrets, "http_basic_auth_password"> &
    Partial<Pick<ApplicationSecrets, "custom_labels">>;
  readonly domains: readonly DomainClaim[];
  /** Set for a preview, which has its own site. */
  readonly pullRequestId?: number | undefined;
  /** Set for one of several containers, which has its own site. */
  readonly container?: SiteContainer | undefined;
}

export interface SiteContainer {
  /** Its key in the compose text. */
  readonly name: string;
  /** Where it listens, unless a URL names another port. `null`: where its release says. */
  readonly port: number | null;
}

/** Settings of a site whose owner has none of its own. */
export const PLAIN_SITE: Pick<SiteSubject, "settings" | "secrets"> = {
  settings: {
    redirect: "both",
    noindex_domains: null,
    is_http_basic_auth_enabled: false,
    http_basic_auth_username: null,
    is_force_https_enabled: true,
    is_gzip_enabled: true,
    is_stripprefix_enabled: true,
  },
  secrets: { http_basic_auth_password: null },
};

/** Settings that all sites of an application share, previews included. */
export const applicationSite = ({
  application: { uuid, name, settings },
  secrets,
}: {
  readonly application: Pick<ApplicationRecord, "uuid" | "name" | "settings">;
  readonly secrets: SiteSubject["secrets"];
}): Pick<SiteSubject, "owner" | "settings" | "secrets"> => ({ owner: { uuid, name }, settings, secrets });

/** The sites of what has these URLs: one for each container that URLs lead to, and one for those of all of it. */
export function siteSubjects(all: Omit<SiteSubject, "container">): readonly SiteSubject[] {
  const byContainer = Map.groupBy(all.domains, ({ container }) => container ?? null);
  return [...byContainer].map(([name, domains]) => {
    if (name === null) return { ...all, domains };
    return { ...all, domains, container: { name, port: domains[0]?.container_port ?? null } };
  });
}

/**
 * The sites of a resource that has never run: as those of any that is down, they need no secret.
 * @param settings `null`: its kind has none.
 */
export const restingSites = (
  owner: SiteSubject["owner"],
  settings: SiteSettings | null,
  domains: readonly DomainClaim[],
): readonly Site[] =>
  siteSubjects({
    owner,
    settings: settings ?? PLAIN_SITE.settings,
    secrets: PLAIN_SITE.secrets,
    domains,
    pullRequestId: 0,
  }).map((subject) => siteOf(subject, []));

/** Names a site for ever: what a resource, one of its previews, or one of its containers is for the proxy. */
export function siteIdOf(resourceUuid: string, pullRequestId: number, container?: string): string {
  const part = pullRequestId === 0 ? resourceUuid : previewName(resourceUuid, pullRequestId);
  return container === undefined ? part : `${part}${CONTAINER_MARK}${container}`;
}

/** No uuid has it, so what stands before the first one names the part. */
const CONTAINER_MARK = ".";

/** Identifier of the part that a site belongs to: `siteIdOf` without a container. */
export const sitePartOf = (siteId: string): string => siteId.split(CONTAINER_MARK, 1)[0] ?? siteId;

/** `undefined`: it is of no container alone. */
export function siteContainerOf(siteId: string): string | undefined {
  const at = siteId.indexOf(CONTAINER_MARK);
  return at === -1 ? undefined : siteId.slice(at + CONTAINER_MARK.length);
}

export const subjectId = ({ owner, pullRequestId = 0, container }: SiteSubject): string =>
  siteIdOf(owner.uuid, pullRequestId, container?.name);

/**
 * The proxy's site of a resource. Without upstreams it answers that the resource is down, to everybody: there is
 * nothing to protect, and no secret of it leaves the database.
 */
export function siteOf(subject: SiteSubject, upstreams: readonly Upstream[]): Site {
  const { settings, domains } = subject;
  return {
    id: subjectId(subject),
    name: nameOf(subject),
    routes: routesOf(domains, settings),
    upstreams: [],
    isHttpsForced: settings.is_force_https_enabled,
    isCompressed: settings.is_gzip_enabled,
    isPrefixStripped: settings.is_stripprefix_enabled,
    ...(upstreams.length > 0 && answering(subject, upstreams)),
  };
}

function answering({ settings, secrets }: SiteSubject, upstreams: readonly Upstream[]): Partial<Site> {
  const labels = () => labelHeaders(secrets.custom_labels ?? null);
  if (!settings.is_http_basic_auth_enabled) return { upstreams, ...labels() };
  // Protection without a password would open the site to everyone who knows the name: it stays down until there is
  // one.
  if (secrets.http_basic_auth_password === null) return {};
  const basicAuth = { username: settings.http_basic_auth_username ?? "", password: secrets.http_basic_auth_password };
  return { upstreams, ...labels(), basicAuth };
}

const nameOf = ({ owner, pullRequestId = 0, container }: SiteSubject): string =>
  [owner.name, container?.name, pullRequestId === 0 ? undefined : `pull request ${pullRequestId}`]
    .filter((part) => part !== undefined)
    .join(", ");

function routesOf(domains: readonly DomainClaim[], { redirect, noindex_domains }: SiteSettings): readonly SiteRoute[] {
  const unlisted = new Set(noindex_domains?.map(plainUrl));
  const claimed = new Set(domains.map(({ host, path }) => `${host}${path}`));
  return domains.map(({ host, path, url }) => {
    const upstreamPort = portOf(url);
    const route = {
      host,
      path,
      isHttps: url.startsWith("https:"),
      ...(upstreamPort !== undefined && { upstreamPort }),
      ...((unlisted.has(plainUrl(url)) || unlisted.has(host)) && { isUnlisted: true }),
    };
    const target = redirectTarget(host, redirect);
    // A redirect to a host that is not this application's would lead visitors away.
    if (target === undefined || !claimed.has(`${target}${path}`)) return route;
    return { ...route, redirectToHost: target };
  });
}

/** Clients write a URL with and without the slash at its end. */
const plainUrl = (url: string): string => url.toLowerCase().replace(/\/+$/, "");

/** The container's, as the URL was given: `URL` would hide 443 of https. */
function portOf(url: string): number | undefined {
  const [, port] = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(url) ?? [];
  return port === undefined ? undefined : Number(port);
}

/**
 * Which URLs name a port of the container that nothing listens on, in sentences. A release is healthy without them: it
 * is asked at the port it exposes.
 * @param listening Ports; none when that cannot be found out.
 */
export function silentUrls(
  domains: readonly Pick<DomainClaim, "url">[],
  upstream: Upstream,
  listening: readonly number[],
): readonly string[] {
  if (!listening.includes(upstream.port)) return [];
  const ports = listening.toSorted((a, b) => a - b).join(", ");
  return domains.flatMap(({ url }) => {
    const port = portOf(url);
    if (port === undefined || listening.includes(port)) return [];
    return `${url} leads to port ${port} of the container, where nothing listens. It listens on ${ports}: leave the port out of the URL, or write one of these.`;
  });
}

function redirectTarget(host: string, redirect: ApplicationSettings["redirect"]): string | undefined {
  const hasPrefix = host.startsWith(WWW);
  if (redirect === "www" && !hasPrefix) return `${WWW}${host}`;
  if (redirect === "non-www" && hasPrefix) return host.slice(WWW.length);
  return undefined;
}

/** Where requests go: to the live release, as long as it is wanted and may answer. */
export function upstreamsOf(
  desiredState: DesiredState,
  live: { readonly upstream: Upstream | null } | undefined,
  observed: ReleaseState | undefined,
  container?: SiteContainer | undefined,
): readonly Upstream[] {
  if (desiredState === "stopped" || live === undefined || observed === undefined) return [];
  return container === undefined ? ownUpstreams(live, observed) : containerUpstreams(container, observed);
}

function ownUpstreams(live: { readonly upstream: Upstream | null }, state: ReleaseState): readonly Upstream[] {
  if (!MAY_ANSWER.has(state.state)) return [];
  const main = mainContainer(state.containers ?? []);
  const alike = main === undefined ? [] : containerUpstreams({ name: main.name, port: null }, state);
  if (alike.length > 1) return alike;
  const upstream = state.upstream ?? live.upstream;
  return upstream === null ? [] : [upstream];
}

/** One that does not answer gets no requests as long as another one of its name does. */
function containerUpstreams({ name, port }: SiteContainer, { containers = [] }: ReleaseState): readonly Upstream[] {
  const up = containers.filter((one) => one.name === name && one.address !== null && MAY_ANSWER.has(one.state));
  const well = up.filter(({ health }) => health === undefined || health === "healthy");
  return (well.length > 0 ? well : up).flatMap(({ address, port: own }) =>
    address === null ? [] : [{ host: address, port: port ?? own ?? HTTP_PORT }],
  );
}

/** Where a container is taken to listen of which nothing says where. */
export const HTTP_PORT = 80;
const WWW = "www.";
/** One that restarts keeps its address: taking its route away and giving it back would only lengthen the outage. */
const MAY_ANSWER: ReadonlySet<ReleaseState["state"]> = new Set([
  "created",
  "starting",
  "running",
  "restarting",
  "paused",
]);
