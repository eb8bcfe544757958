import type { Compose } from "./compose/parse.ts";
import type { WantedUrl } from "./compose/variables.ts";
import { parseUrlList } from "./domain.ts";
import { invalid } from "./errors.ts";
import { generatedUrl } from "./generated-domain.ts";
import type { DomainClaim, ServerRecord } from "./ports/records.ts";
import type { ServiceUrl } from "./service-input.ts";
import { slug } from "./slug.ts";

/** Claims by the name of the container that gets what comes for them. */
export type ContainerClaims = ReadonlyMap<string, readonly DomainClaim[]>;

type NamedContainer = Pick<Compose["containers"][number], "name" | "kind">;

/**
 * The URLs that a request asks for. An empty list takes a container's URLs away.
 * @throws DomainError `request.invalid` with a sentence for each item that is wrong
 */
export function readServiceUrls(
  sent: readonly ServiceUrl[] | null | undefined,
  containers: readonly NamedContainer[],
  isForced: boolean,
): ContainerClaims {
  const read = new Map<string, readonly DomainClaim[]>();
  const problems: string[] = [];
  for (const { name, url } of sent ?? []) {
    const { claims, problems: wrong } = parseUrlList(url ?? "");
    const refusal =
      nameProblem(name, containers) ?? (read.has(name) ? `The container ${name} is named twice.` : undefined);
    problems.push(...(refusal === undefined ? wrong : [refusal]));
    read.set(name, claims);
  }
  if (!isForced) problems.push(...twice([...read.values()].flat()));
  if (problems.length > 0) throw invalid({ urls: problems });
  return read;
}

function nameProblem(name: string, containers: readonly NamedContainer[]): string | undefined {
  const container = containers.find((one) => one.name === name);
  if (container === undefined) return `Service container with '${name}' not found.`;
  return container.kind === "database" ? `The container ${name} is a database, which has no URLs.` : undefined;
}

/** One URL leads to one container. */
function twice(claims: readonly DomainClaim[]): readonly string[] {
  const seen = new Set<string>();
  return claims.flatMap(({ host, path, url }) => {
    const key = `${host}${path}`;
    if (seen.has(key)) return [`The URL ${url} is there twice.`];
    seen.add(key);
    return [];
  });
}

/** Between two labels' worth of name and uuid: `<name>-<uuid>` is one label of a host. */
const NAME_LENGTH_MAX = 63 - 1 - 24;

/** The URL that is made for a container: `<name>-<uuid of the service>`, below the server's own domain. */
export function generatedServiceUrl(
  { name, port, path }: WantedUrl,
  server: Pick<ServerRecord, "ip" | "settings">,
  serviceUuid: string,
): string {
  const base = new URL(generatedUrl(server, `${slug(name, NAME_LENGTH_MAX) || "container"}-${serviceUuid}`));
  if (port !== null) base.port = String(port);
  const prefix = base.pathname === "/" ? "" : base.pathname;
  // Of port 80 and 443 the URL shows none, and they are what a container listens on when none is said.
  return `${base.protocol}//${base.host}${prefix}${path}`;
}

export interface UrlPlan {
  /** Of the containers whose URLs change. */
  readonly claims: ContainerClaims;
  /** For each URL that the compose text asks for, where it leads to from now on. */
  readonly urls: readonly { readonly wanted: WantedUrl; readonly url: string | null; readonly isChosen: boolean }[];
}

/**
 * What URLs the containers of a service get: those that were asked for, else those they have, and one is made for each
 * that the compose text names for the first time.
 *
 * @param current URLs that the containers have
 * @param isNamedBefore Whether the compose text named a URL of this name before: then none is made
 */
export function planUrls(
  { urls: wantedUrls, containers }: Pick<Compose, "urls" | "containers">,
  service: { readonly uuid: string; readonly server: Pick<ServerRecord, "ip" | "settings"> },
  {
    requested,
    current,
    isNamedBefore,
  }: {
    readonly requested: ContainerClaims;
    readonly current: ContainerClaims;
    readonly isNamedBefore: (name: string) => boolean;
  },
): UrlPlan {
  const claims = new Map(requested);
  for (const { name, kind } of containers) {
    if (claims.has(name)) continue;
    const before = current.get(name) ?? [];
    const fresh = wantedUrls.filter((wanted) => wanted.container === name && !isNamedBefore(wanted.name));
    const made = fresh.flatMap(
      (wanted) => parseUrlList(generatedServiceUrl(wanted, service.server, service.uuid)).claims,
    );
    const isNoApplication = kind === "database" && before.length > 0;
    if (isNoApplication) claims.set(name, []);
    else if (made.length > 0) claims.set(name, [...before, ...made]);
  }
  const urls = wantedUrls.map((wanted) => ({
    wanted,
    url: urlOf(wanted, wantedUrls, claims, current) ?? fallbackUrl(wanted, service),
    isChosen: wanted.container !== null && requested.has(wanted.container),
  }));
  return { claims, urls };
}

/** A container's first URL is that of the first name it is given, and so on; with fewer URLs, the first serves. */
function urlOf(
  wanted: WantedUrl,
  all: readonly WantedUrl[],
  claims: ContainerClaims,
  current: ContainerClaims,
): string | null {
  if (wanted.container === null) return null;
  const own = claims.get(wanted.container) ?? current.get(wanted.container) ?? [];
  const index = all.filter(({ container }) => container === wanted.container).indexOf(wanted);
  return (own[index] ?? own[0])?.url ?? null;
}

/** A name that leads to none of the containers still has a value. */
const fallbackUrl = (
  wanted: WantedUrl,
  { server, uuid }: { readonly uuid: string; readonly server: Pick<ServerRecord, "ip" | "settings"> },
): string | null => (wanted.container === null ? generatedServiceUrl(wanted, server, uuid) : null);
