import type { ApplicationSecrets, ApplicationSettings } from "../application.ts";
import type { Site, SiteRoute } from "../ports/proxy.ts";
import type { DomainClaim } from "../ports/records.ts";
import { previewName } from "../preview.ts";
import type { DesiredState } from "../resource.ts";
import { labelHeaders } from "./label-headers.ts";
import type { ReleaseState, Upstream } from "./release.ts";

type SiteSettings = Pick<
  ApplicationSettings,
  | "redirect"
  | "is_http_basic_auth_enabled"
  | "http_basic_auth_username"
  | "is_force_https_enabled"
  | "is_gzip_enabled"
  | "is_stripprefix_enabled"
>;

/** What a site is made of, beside where its requests go now. */
export interface SiteSubject {
  readonly application: { readonly uuid: string; readonly name: string; readonly settings: SiteSettings };
  readonly secrets: Pick<ApplicationSecrets, "http_basic_auth_password"> &
    Partial<Pick<ApplicationSecrets, "custom_labels">>;
  readonly domains: readonly DomainClaim[];
  /** Of a preview: the site is one of its own. */
  readonly pullRequestId?: number | undefined;
}

/** Names a site for ever: what an application, or one of its previews, is for the proxy. */
export const siteIdOf = (applicationUuid: string, pullRequestId: number): string =>
  pullRequestId === 0 ? applicationUuid : previewName(applicationUuid, pullRequestId);

/** What the proxy must know of an application. Without upstreams it answers that it is down. */
export function siteOf(
  { application, secrets, domains, pullRequestId = 0 }: SiteSubject,
  upstreams: readonly Upstream[],
): Site {
  const { settings } = application;
  const isProtected = settings.is_http_basic_auth_enabled;
  const password = secrets.http_basic_auth_password;
  return {
    id: siteIdOf(application.uuid, pullRequestId),
    name: pullRequestId === 0 ? application.name : `${application.name}, pull request ${pullRequestId}`,
    routes: routesOf(domains, settings.redirect),
    // Protection without a password would open the site to whoever knows the name: it stays down until there is one.
    upstreams: isProtected && password === null ? [] : upstreams,
    isHttpsForced: settings.is_force_https_enabled,
    isCompressed: settings.is_gzip_enabled,
    isPrefixStripped: settings.is_stripprefix_enabled,
    ...labelHeaders(secrets.custom_labels ?? null),
    ...(isProtected && { basicAuth: { username: settings.http_basic_auth_username ?? "", password: password ?? "" } }),
  };
}

function routesOf(domains: readonly DomainClaim[], redirect: ApplicationSettings["redirect"]): readonly SiteRoute[] {
  const claimed = new Set(domains.map(({ host, path }) => `${host}${path}`));
  return domains.map(({ host, path, url }) => {
    const upstreamPort = portOf(url);
    const route = {
      host,
      path,
      isHttps: url.startsWith("https:"),
      ...(upstreamPort !== undefined && { upstreamPort }),
    };
    const target = redirectTarget(host, redirect);
    // A redirect to a host that is not this application's would lead visitors away.
    if (target === undefined || !claimed.has(`${target}${path}`)) return route;
    return { ...route, redirectToHost: target };
  });
}

/** The container's, as the URL was given: `URL` would hide 443 of https. */
function portOf(url: string): number | undefined {
  const [, port] = /^[a-z]+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/i.exec(url) ?? [];
  return port === undefined ? undefined : Number(port);
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
): readonly Upstream[] {
  if (desiredState === "stopped" || live === undefined || observed === undefined) return [];
  if (!MAY_ANSWER.has(observed.state)) return [];
  const upstream = observed.upstream ?? live.upstream;
  return upstream === null ? [] : [upstream];
}

const WWW = "www.";
/** One that restarts keeps its address: taking its route away and giving it back would only lengthen the outage. */
const MAY_ANSWER: ReadonlySet<ReleaseState["state"]> = new Set([
  "created",
  "starting",
  "running",
  "restarting",
  "paused",
]);
