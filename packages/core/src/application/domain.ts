import { z } from "zod";
import type { DomainClaim, DomainHolder } from "../ports/records.ts";
import { RESOURCE_KINDS, type ResourceKind } from "../resource/resource.ts";

const URL_LENGTH_MAX = 2048;
/** Limits for a host name and for each of its labels, from RFC 1035. */
const HOST_LENGTH_MAX = 253;
const LABEL_LENGTH_MAX = 63;

export interface UrlList {
  /** One claim for each host and path, in the order of the list. */
  readonly claims: readonly DomainClaim[];
  /** A sentence for each invalid URL. */
  readonly problems: readonly string[];
}

/** Reads comma-separated URLs; empty entries are skipped. */
export function parseUrlList(text: string): UrlList {
  const claims = new Map<string, DomainClaim>();
  const problems: string[] = [];
  for (const item of text.split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const read = parseDomainUrl(item);
    if ("problem" in read) problems.push(read.problem);
    else keep(claims, read.claim);
  }
  return { claims: [...claims.values()], problems };
}

/** A host and path is one claim, whatever the scheme: of an http and an https URL for it the https one is shown. */
function keep(claims: Map<string, DomainClaim>, claim: DomainClaim): void {
  const key = `${claim.host}${claim.path}`;
  const kept = claims.get(key);
  if (kept === undefined || (!kept.url.startsWith("https:") && claim.url.startsWith("https:"))) claims.set(key, claim);
}

/**
 * Reads one absolute http(s) URL.
 *
 * The port is the port of the container behind the proxy, so it is shown but does not distinguish claims. The path is
 * normalised for the claim and shown as given.
 */
export function parseDomainUrl(text: string): { readonly claim: DomainClaim } | { readonly problem: string } {
  const invalidUrl = { problem: `Invalid URL: ${shown(text)}` };
  if (text.length > URL_LENGTH_MAX || /[\s\p{C}`$;&|<>()\\]/u.test(text)) return invalidUrl;
  const [, rawScheme, authority = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i.exec(text) ?? [];
  if (rawScheme === undefined) return invalidUrl;
  const scheme = rawScheme.toLowerCase();
  if (scheme !== "http" && scheme !== "https") {
    const problem = `Invalid URL scheme: ${scheme} for URL: ${shown(text)}. Only http and https are supported.`;
    return { problem };
  }
  // The parser also applies IDNA (UTS #46) and normalises IP addresses.
  if (!URL.canParse(text)) return invalidUrl;
  const url = new URL(text);
  if (authority === "" || authority.includes("@") || /[?#]/.test(rest)) return invalidUrl;
  const host = url.hostname.replace(/\.$/, "");
  const port = /:(\d+)$/.exec(authority)?.[1];
  if (!isHost(host) || authority.endsWith(":") || Number(port ?? 1) < 1) return invalidUrl;
  const path = normalPath(url.pathname);
  if (path === undefined) return invalidUrl;
  return { claim: { host, path, url: `${scheme}://${host}${port === undefined ? "" : `:${port}`}${rest}` } };
}

/**
 * Whether a public authority could issue a certificate for the name. Names in RFC 2606, 6761, 6762 and 8375, addresses
 * and single words are excluded.
 */
export const isPublicName = (host: string): boolean =>
  host.includes(".") &&
  !/[[\]_]/.test(host) &&
  !/^[\d.]+$/.test(host) &&
  !/(^|\.)(localhost|local|internal|test|example|invalid|onion|home\.arpa)$/.test(host);

function isHost(host: string): boolean {
  if (/^\[[0-9a-f:.]+\]$/.test(host)) return true;
  if (host.length > HOST_LENGTH_MAX) return false;
  return host
    .split(".")
    .every((label) => label.length <= LABEL_LENGTH_MAX && /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/.test(label));
}

/** `/` or `/prefix`: without trailing or double slashes, percent-encoded only where necessary. */
function normalPath(pathname: string): string | undefined {
  let isWellFormed = true;
  const segments = pathname.split("/").filter((segment) => segment !== "");
  const normal = segments.map((segment) => {
    try {
      return encodeURIComponent(decodeURIComponent(segment)).replace(/%(3A|40|2B|3D)/g, decodeURIComponent);
    } catch {
      isWellFormed = false;
      return segment;
    }
  });
  return isWellFormed ? `/${normal.join("/")}` : undefined;
}

const shown = (text: string): string => text.slice(0, 200).replace(/\p{C}/gu, "?");

/** URLs as they are stored and shown in `fqdn`. */
export const joinUrls = (claims: readonly DomainClaim[]): string | null =>
  claims.length === 0 ? null : claims.map(({ url }) => url).join(",");

/** Why nothing answers at a URL, and what to do; `undefined` where it is answered, as far as is known. */
export type UrlProblem = (url: string) => string | undefined;

/** The first problem is enough: URLs of one resource share a proxy. */
export const firstUrlProblem = (urls: readonly string[], problemOf: UrlProblem): string | null =>
  urls.map(problemOf).find((problem) => problem !== undefined) ?? null;

export const splitUrls = (fqdn: string | null): readonly string[] =>
  (fqdn ?? "").split(",").filter((url) => url !== "");

export const DomainConflict = z
  .object({
    domain: z.string().describe("Host, with its path where there is one."),
    resource_name: z.string(),
    resource_uuid: z.string().nullable().describe("Null for the instance itself and for what is another team's."),
    resource_type: z.enum(["application", "service", "database", "instance"]),
    service_name: z.string().optional().describe("Of a service: which of its containers."),
    message: z.string(),
  })
  .meta({ id: "DomainConflict", description: "Who holds a domain that was asked for." });
export type DomainConflict = z.infer<typeof DomainConflict>;

export interface ConflictCheck {
  readonly claims: readonly DomainClaim[];
  readonly holders: readonly DomainHolder[];
  readonly teamId: number;
  /** URL of the instance, which no resource can use; `null` without one. */
  readonly instanceUrl: string | null;
}

export interface Conflicts {
  readonly conflicts: readonly DomainConflict[];
  /** `force_domain_override` may override all of these conflicts: they are all within the team. */
  readonly isOverridable: boolean;
}

/**
 * A claim conflicts with resources of the same team that have the same host and path, and with other teams or the
 * instance if they have the host at all: everything served under one host shares its cookies.
 */
export function domainConflicts({ claims, holders, teamId, instanceUrl }: ConflictCheck): Conflicts {
  const instance = instanceUrl === null ? undefined : parseDomainUrl(instanceUrl);
  const ofInstance = claims
    .filter(({ host }) => instance !== undefined && "claim" in instance && host === instance.claim.host)
    .map((claim) => instanceConflict(claim));
  const ofTeam = holders
    .filter((holder) => holder.team_id === teamId && claims.some((claim) => isSame(claim, holder)))
    .map((holder) => holderConflict(holder, teamId));
  // Reported once for each host, so that the number of the other team's paths stays secret.
  const foreign = new Map(holders.filter(({ team_id }) => team_id !== teamId).map((holder) => [holder.host, holder]));
  const ofOtherTeams = [...foreign.values()]
    .filter((holder) => claims.some(({ host }) => host === holder.host))
    .map((holder) => holderConflict(holder, teamId));
  return {
    conflicts: [...ofInstance, ...ofTeam, ...ofOtherTeams],
    isOverridable: ofInstance.length === 0 && ofOtherTeams.length === 0,
  };
}

const isSame = (one: DomainClaim, other: DomainClaim) => one.host === other.host && one.path === other.path;

const named = ({ host, path }: DomainClaim) => (path === "/" ? host : `${host}${path}`);

function instanceConflict(claim: DomainClaim): DomainConflict {
  const domain = named(claim);
  return {
    domain,
    resource_name: "This instance",
    resource_uuid: null,
    resource_type: "instance",
    message: `Domain ${domain} is the address of this instance.`,
  };
}

/** Reveals nothing about a resource of another team: no name, no uuid, no path. */
export function holderConflict(holder: DomainHolder, teamId: number): DomainConflict {
  const resource_type: ResourceKind = holder.resource_kind;
  if (holder.team_id !== teamId) {
    const domain = holder.host;
    const message = `Domain ${domain} is already in use by another team.`;
    return { domain, resource_name: "Another team", resource_uuid: null, resource_type: "application", message };
  }
  const domain = named(holder);
  const title = RESOURCE_KINDS[holder.resource_kind].title.toLowerCase();
  const preview = holder.pull_request_id === 0 ? "" : `the preview of pull request ${holder.pull_request_id} of `;
  return {
    domain,
    resource_name: holder.resource_name,
    resource_uuid: holder.resource_uuid,
    resource_type,
    ...(holder.container_name ? { service_name: holder.container_name } : {}),
    message: `Domain ${domain} is already in use by ${preview}${title} '${holder.resource_name}'.`,
  };
}
