import type { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import { scalesByRequests } from "../application/autoscaling.ts";
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
  | "autoscaling_enabled"
  | "autoscaling_requests_per_second"
>;

/** Input of a site, except its current upstreams. */
export interface SiteSubject {
  readonly owner: { readonly uuid: string; readonly name: string };
  readonly settings: SiteSettings;
  readonly secrets: Pick<ApplicationSecrets, "http_basic_auth_password"> &
    Partial<Pick<ApplicationSecrets, "custom_labels">>;
  readonly domains: readonly DomainClaim[];
  /** Set for a preview, which has its own site. */
  readonly pullRequestId?: number | undefined;
  /** Set for a container of several, which has its own site. */
  readonly container?: SiteContainer | undefined;
}

export interface SiteContainer {
  /** Its key in the compose file. */
  readonly name: string;
  /** Its port, unless a URL names another one. `null`: the port of its release. */
  readonly port: number | null;
}

/** Settings of a site if its owner's kind has none. */
export const PLAIN_SITE: Pick<SiteSubject, "settings" | "secrets"> = {
  settings: {
    redirect: "both",
    noindex_domains: null,
    is_http_basic_auth_enabled: false,
    http_basic_auth_username: null,
    is_force_https_enabled: true,
    is_gzip_enabled: true,
    is_stripprefix_enabled: true,
    autoscaling_enabled: false,
    autoscaling_requests_per_second: null,
  },
  secrets: { http_basic_auth_password: null },
};

/** Settings of all sites of an application, previews included. */
export const applicationSite = ({
  application: { uuid, name, settings },
  secrets,
}: {
  readonly application: Pick<ApplicationRecord, "uuid" | "name" | "settings">;
  readonly secrets: SiteSubject["secrets"];
}): Pick<SiteSubject, "owner" | "settings" | "secrets"> => ({ owner: { uuid, name }, settings, secrets });

/** The sites for these URLs: one for each container with URLs, and one for URLs without a container. */
export function siteSubjects(all: Omit<SiteSubject, "container">): readonly SiteSubject[] {
  const byContainer = Map.groupBy(all.domains, ({ container }) => container ?? null);
  return [...byContainer].map(([name, domains]) => {
    if (name === null) return { ...all, domains };
    return { ...all, domains, container: { name, port: domains[0]?.container_port ?? null } };
  });
}

/**
 * The sites of a resource that never ran. Like all sites that are down, they need no secret.
 * @param settings `null`: the kind has no settings of sites.
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

/** The permanent identity of a site: a resource, a preview, or one of their containers. */
export function siteIdOf(resourceUuid: string, pullRequestId: number, container?: string): string {
  const part = pullRequestId === 0 ? resourceUuid : previewName(resourceUuid, pullRequestId);
  return container === undefined ? part : `${part}${CONTAINER_MARK}${container}`;
}

/** Uuids do not contain it, so the text before the first one identifies the part. */
const CONTAINER_MARK = ".";

/** Identity of the resource or preview that a site belongs to. */
export const sitePartOf = (siteId: string): string => siteId.split(CONTAINER_MARK, 1)[0] ?? siteId;

/** `undefined`: the site does not belong to a single container. */
export function siteContainerOf(siteId: string): string | undefined {
  const at = siteId.indexOf(CONTAINER_MARK);
  return at === -1 ? undefined : siteId.slice(at + CONTAINER_MARK.length);
}

export const subjectId = ({ owner, pullRequestId = 0, container }: SiteSubject): string =>
  siteIdOf(owner.uuid, pullRequestId, container?.name);

/**
 * The site of a resource in the proxy. Without upstreams everybody gets the answer that it is down: nothing needs
 * protection, so no secret leaves the database.
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
    ...(isCounted(subject) && { isCounted: true }),
    ...(upstreams.length > 0 && answering(subject, upstreams)),
  };
}

/** Only applications are scaled, not their previews, nor containers of a compose file. */
const isCounted = ({ settings, pullRequestId = 0, container }: SiteSubject): boolean =>
  pullRequestId === 0 && container === undefined && scalesByRequests(settings);

function answering({ settings, secrets }: SiteSubject, upstreams: readonly Upstream[]): Partial<Site> {
  const labels = () => labelHeaders(secrets.custom_labels ?? null);
  if (!settings.is_http_basic_auth_enabled) return { upstreams, ...labels() };
  // Without a password the protection would not work, so the site stays down until there is one.
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
    // Redirecting to a host of somebody else would take visitors away.
    if (target === undefined || !claimed.has(`${target}${path}`)) return route;
    return { ...route, redirectToHost: target };
  });
}

/** Clients write URLs with and without a trailing slash. */
const plainUrl = (url: string): string => url.toLowerCase().replace(/\/+$/, "");

/** The container's port as written in the URL: `URL` would drop 443 of https. */
function portOf(url: string): number | undefined {
  const [, port] = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(url) ?? [];
  return port === undefined ? undefined : Number(port);
}

/**
 * URLs that name a port of the container where nothing listens, as sentences. The health check does not find these,
 * since it probes the exposed port.
 * @param listening Open ports; empty if unknown.
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
    return `${url} names port ${port} of the container, where nothing listens. It listens on ${ports}: remove the port from the URL, or use one of these.`;
  });
}

function redirectTarget(host: string, redirect: ApplicationSettings["redirect"]): string | undefined {
  const hasPrefix = host.startsWith(WWW);
  if (redirect === "www" && !hasPrefix) return `${WWW}${host}`;
  if (redirect === "non-www" && hasPrefix) return host.slice(WWW.length);
  return undefined;
}

/** What decides about the upstreams of a site. */
export interface SiteTarget {
  readonly desiredState: DesiredState;
  readonly live: { readonly upstream: Upstream | null } | undefined;
  readonly observed: ReleaseState | undefined;
  /** Those with a higher number are about to be removed; left out: any number. */
  readonly replicas?: number | undefined;
}

/** Upstreams for requests: the live release, while it should run and may answer. */
export function upstreamsOf(target: SiteTarget, container?: SiteContainer | undefined): readonly Upstream[] {
  const { desiredState, live, observed, replicas } = target;
  if (desiredState === "stopped" || live === undefined || observed === undefined) return [];
  const state = withReplicas(observed, replicas);
  return container === undefined ? ownUpstreams(live, state) : containerUpstreams(container, state);
}

/** The state without the containers that are about to be removed. */
function withReplicas(state: ReleaseState, replicas: number | undefined): ReleaseState {
  if (replicas === undefined || state.containers === undefined) return state;
  return { ...state, containers: state.containers.slice(0, replicas) };
}

function ownUpstreams(live: { readonly upstream: Upstream | null }, state: ReleaseState): readonly Upstream[] {
  if (!MAY_ANSWER.has(state.state)) return [];
  const containers = state.containers ?? [];
  const main = mainContainer(containers);
  if (main !== undefined && containers.filter(({ name }) => name === main.name).length > 1) {
    const alike = containerUpstreams({ name: main.name, port: null }, state);
    if (alike.length > 0) return alike;
  }
  const upstream = state.upstream ?? live.upstream;
  return upstream === null ? [] : [upstream];
}

/** While another container of the same service is healthy, unhealthy ones get no requests. */
function containerUpstreams({ name, port }: SiteContainer, { containers = [] }: ReleaseState): readonly Upstream[] {
  const up = containers.filter((one) => one.name === name && one.address !== null && MAY_ANSWER.has(one.state));
  const well = up.filter(({ health }) => health === undefined || health === "healthy");
  return (well.length > 0 ? well : up).flatMap(({ address, port: own }) =>
    address === null ? [] : [{ host: address, port: port ?? own ?? HTTP_PORT }],
  );
}

/** Assumed port of a container that names none. */
export const HTTP_PORT = 80;
const WWW = "www.";
/** A restarting container keeps its address: removing its route for a moment would only lengthen the outage. */
const MAY_ANSWER: ReadonlySet<ReleaseState["state"]> = new Set([
  "created",
  "starting",
  "running",
  "restarting",
  "paused",
]);
