import type { Site } from "../ports/proxy.ts";
import type { ReleaseState, Upstream } from "./release.ts";
import { siteContainerOf } from "./site.ts";

export interface DrainSubject {
  /** Address of the replaced release. */
  readonly upstream: Upstream | null;
  readonly state: Pick<ReleaseState, "containers"> | undefined;
  /** Current sites of the resource or preview in the proxy. */
  readonly sites: readonly Site[];
  /** Whether the proxy forwards a route to the port in its URL. */
  readonly hasUpstreamPorts: boolean;
}

/**
 * Upstreams where requests to a replaced release may still be in flight: each of its containers at each port that a
 * URL names. Containers that continue in the next release are excluded, since they still receive requests.
 */
export function drainedUpstreams({ upstream, state, sites, hasUpstreamPorts }: DrainSubject): readonly Upstream[] {
  const ports = sites.map((site) => ({ container: siteContainerOf(site.id), ports: portsOf(site, hasUpstreamPorts) }));
  const all = [
    ...(upstream === null ? [] : [upstream, ...at(upstream.host, ports.filter(isOfAll))]),
    ...(state?.containers ?? []).flatMap(({ name, address, port }) => {
      if (address === null) return [];
      const own = port === null ? [] : [{ host: address, port }];
      return [
        ...own,
        ...at(
          address,
          ports.filter((site) => isOfAll(site) || site.container === name),
        ),
      ];
    }),
  ];
  const routed = new Set(
    sites.flatMap((site) => site.upstreams.flatMap(({ host }) => portsOf(site, hasUpstreamPorts).map(keyAt(host)))),
  );
  return [...new Map(all.map((one) => [keyAt(one.host)(one.port), one]))].flatMap(([key, one]) =>
    routed.has(key) ? [] : [one],
  );
}

interface SitePorts {
  readonly container: string | undefined;
  readonly ports: readonly number[];
}

/** The site of one container concerns only that container. */
const isOfAll = ({ container }: SitePorts): boolean => container === undefined;

const at = (host: string, sites: readonly SitePorts[]): readonly Upstream[] =>
  sites.flatMap(({ ports }) => ports.map((port) => ({ host, port })));

const portsOf = ({ upstreams, routes }: Site, hasUpstreamPorts: boolean): readonly number[] => [
  ...upstreams.map(({ port }) => port),
  ...(hasUpstreamPorts ? routes.flatMap(({ upstreamPort }) => upstreamPort ?? []) : []),
];

const keyAt =
  (host: string) =>
  (port: number): string =>
    `${host}:${port}`;
