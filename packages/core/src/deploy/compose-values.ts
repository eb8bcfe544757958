import { heldUrls, type MagicContext, magicValues, urlValue } from "../compose/magic.ts";
import { isMade, magicUrlOf } from "../compose/magic-key.ts";
import type { Compose } from "../compose/parse.ts";
import { comparable, type WantedUrl } from "../compose/wanted-urls.ts";
import type { DomainClaim, EnvRecord } from "../ports/records.ts";
import { type PlannedService, planUrls } from "../service/service-url-plan.ts";

type ReadCompose = Pick<Compose, "variables" | "urls" | "environments">;

/** What the compose file of an application asks Berth to generate, as that of a service does, and does not exist yet. */
export function generatedValues(compose: ReadCompose, context: MagicContext): ReadonlyMap<string, string> {
  const literal = literalKeys(compose);
  return magicValues(
    compose.variables.filter(({ key }) => !literal.has(key)),
    context,
  );
}

/** The variables of a compose file whose values Berth generates, or derives from URLs, where the application has none. */
export function generatedKeys(compose: Pick<ReadCompose, "variables" | "environments">): readonly string[] {
  const literal = literalKeys(compose);
  return compose.variables.flatMap(({ key }) => (isMade(key) && !literal.has(key) ? [key] : []));
}

/** The URLs of an application's containers under the names of its compose file; `""` where a container has none. */
export function urlValues(compose: ReadCompose, domains: readonly DomainClaim[]): Readonly<Record<string, string>> {
  const literal = literalNames(compose);
  const keys = compose.variables.flatMap(({ key }) => {
    const name = nameOf(key);
    return name === undefined || literal.has(name) ? [] : [key];
  });
  const urls = ownUrls(compose).map((wanted) => ({ wanted, url: urlOf(wanted, domains) }));
  const values = [...heldUrls(urls, keys)].map(([key, { url }]) => [key, urlValue(key, url, (one) => one) ?? ""]);
  return Object.fromEntries(values);
}

/**
 * URL variables whose port is not the one of the proxy, with the value that they should have: stored values do not
 * follow a proxy that is moved to other ports, as a user may have chosen them.
 */
export function outdatedUrls(
  envs: readonly Pick<EnvRecord, "key" | "value">[],
  domains: readonly DomainClaim[],
): readonly { readonly key: string; readonly current: string }[] {
  return envs.flatMap(({ key, value }) => {
    if (value === null || magicUrlOf(key) === undefined) return [];
    const wanted = domains.flatMap(({ url, public_url }) => urlValue(key, public_url ?? url, (one) => one) ?? []);
    const current = wanted.find((one) => withoutPort(one) === withoutPort(value));
    return current === undefined || wanted.includes(value) ? [] : [{ key, current }];
  });
}

const withoutPort = (text: string): string => text.replace(/:\d+(?=\/|$)/, "");

/** The URLs that an application without any gets because its compose file asks for them, as those of a service. */
export function generatedClaims(compose: Compose, application: PlannedService): readonly DomainClaim[] {
  const asked = { ...compose, urls: ownUrls(compose) };
  const first = { requested: new Map(), current: new Map(), isNewCompose: true, isNamedBefore: () => false };
  const { claims } = planUrls(asked, application, first);
  return [...claims].flatMap(([container, own]) => own.map((claim) => ({ ...claim, container })));
}

/** What the file asks for itself, in entries without a text of their own. */
function ownUrls(compose: ReadCompose): readonly WantedUrl[] {
  const literal = literalNames(compose);
  return compose.urls.filter(({ variable, name }) => variable === undefined && !literal.has(comparable(name)));
}

const literalNames = (compose: ReadCompose): ReadonlySet<string> =>
  new Set([...literalKeys(compose)].flatMap((key) => nameOf(key) ?? []));

/** The name in `SERVICE_URL_NAME`, which `SERVICE_FQDN_NAME` has too. */
function nameOf(key: string): string | undefined {
  const url = magicUrlOf(key);
  return url === undefined ? undefined : comparable(url.name);
}

/** Of several URLs of the container the one with the wanted port. */
function urlOf({ container, port }: WantedUrl, domains: readonly DomainClaim[]): string | null {
  const own = domains.filter((claim) => claim.container === container);
  const claim = own.find(({ url }) => port !== null && new URL(url).port === String(port)) ?? own[0];
  return claim === undefined ? null : (claim.public_url ?? claim.url);
}

/** Repositories were not all written for Berth: an entry with a text of its own keeps it, whatever its name. */
function literalKeys({ environments }: Pick<ReadCompose, "environments">): ReadonlySet<string> {
  const entries = [...environments.values()].flat();
  return new Set(entries.flatMap(({ key, value }) => (isMade(key) && isLiteral(key, value) ? [key] : [])));
}

const isLiteral = (key: string, value: string | null): boolean =>
  value !== null && value !== "" && !value.includes("$") && !(magicUrlOf(key) !== undefined && value.startsWith("/"));
