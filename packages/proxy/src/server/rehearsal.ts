import type { Host } from "@berth/host";
import { type StartedContainer, untilServing } from "./container.ts";
import { type ProbeQuestion, statusAt } from "./probe.ts";
import { type ProxySettings, type RoutedSite, routesByHost } from "./routed-site.ts";

/** All sites without upstreams and counts: a known site answers that it is down. */
export const rehearsalSites = (sites: Iterable<RoutedSite>): readonly RoutedSite[] =>
  Array.from(sites, (site) => ({ ...site, upstreams: [], slotCount: 1, isCounted: false }));

/** Requests no certificates; unknown names get 404. */
export const rehearsalSettings = (settings: ProxySettings): ProxySettings => ({
  ...settings,
  tls: { issuer: "internal" },
  redirectUrl: undefined,
});

/**
 * Waits until the proxy of a rehearsal routes a site.
 * @throws DomainError `setup.failed`
 */
export async function untilRehearsed(
  host: Host,
  container: StartedContainer,
  address: { readonly host: string; readonly port: number },
  sites: Iterable<RoutedSite>,
): Promise<void> {
  const question = questionOf(sites);
  await untilServing(host.name, container, async () => {
    const status = await statusAt(host, address, question);
    return status !== undefined && (question === undefined || status !== UNKNOWN);
  });
}

/** For a site that any proxy answers otherwise than a name that it does not know. */
function questionOf(sites: Iterable<RoutedSite>): ProbeQuestion | undefined {
  for (const [host, [first]] of routesByHost(sites)) if (first) return { host, path: first.route.path };
  return undefined;
}

const UNKNOWN = 404;
