import { parseUrlList } from "../application/domain.ts";
import { generatedUrl } from "../application/generated-domain.ts";
import type { Compose } from "../compose/parse.ts";
import type { WantedUrl } from "../compose/wanted-urls.ts";
import { invalid } from "../errors.ts";
import type { DomainClaim, ServerRecord } from "../ports/records.ts";
import { slug } from "../slug.ts";
import type { ServiceUrl } from "./service-input.ts";

/** Claims by the name of the container that receives their requests. */
export type ContainerClaims = ReadonlyMap<string, readonly DomainClaim[]>;

type NamedContainer = Pick<Compose["containers"][number], "name" | "kind">;

/**
 * The URLs in a request. An empty list removes a container's URLs.
 * @throws DomainError `request.invalid` with a sentence for each invalid item
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

/** A URL can belong to only one container. */
function twice(claims: readonly DomainClaim[]): readonly string[] {
  const seen = new Set<string>();
  return claims.flatMap(({ host, path, url }) => {
    const key = `${host}${path}`;
    if (seen.has(key)) return [`The URL ${url} is listed twice.`];
    seen.add(key);
    return [];
  });
}

/** `<name>-<uuid>` must fit into one label of a host. */
const NAME_LENGTH_MAX = 63 - 1 - 24;

/** The label shows that Berth generated the host, and for which name. */
export const generatedLabel = (name: string, serviceUuid: string): string =>
  `${slug(name, NAME_LENGTH_MAX) || "container"}-${serviceUuid}`;

/** The generated URL of a container: `<name>-<uuid of the service>`, below the server's own domain. */
export function generatedServiceUrl(
  wanted: WantedUrl,
  server: Pick<ServerRecord, "ip" | "settings">,
  serviceUuid: string,
): string {
  const { protocol, hostname, port, pathname } = new URL(
    generatedUrl(server, generatedLabel(wanted.label ?? wanted.name, serviceUuid)),
  );
  const at = wanted.port ?? port;
  return `${protocol}//${hostname}${at === "" ? "" : `:${at}`}${pathname === "/" ? "" : pathname}${wanted.path}`;
}
