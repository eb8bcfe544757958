import { get } from "node:http";
import type { Upstream } from "@berth/core/deploy";
import type { Site, Proxy as SiteProxy } from "@berth/core/ports";
import type { Points } from "./points.fixture.ts";

/** A proxy in memory that really forwards requests. It outlives the workers that use it. */
export interface FakeProxy extends SiteProxy {
  /** Default: none. */
  lifecycle?: SiteProxy["lifecycle"];
  readonly sites: ReadonlyMap<string, Site>;
  /** Reported requests in flight, by port. */
  readonly busy: Map<number, number>;
  readonly puts: readonly Site[];
  /** Names its run; another one after a restart. */
  run: string;
  /** Reported requests that were answered, by site. */
  readonly counts: Map<string, number>;
  /** Body of the answer, or the status without an upstream. */
  request(siteId: string): Promise<string>;
}

export function fakeProxy(points: Points): FakeProxy {
  let sites = new Map<string, Site>();
  const busy = new Map<number, number>();
  const puts: Site[] = [];
  const fake: FakeProxy = {
    run: "first",
    counts: new Map(),
    capabilities: {
      https: false,
      compression: false,
      customHeaders: false,
      upstreamPorts: false,
      requestCounts: true,
      answerCounts: true,
      earlyAnswers: true,
      hidesSession: true,
    },
    get sites() {
      return sites;
    },
    busy,
    puts,
    async sync(wanted) {
      await points.pass("sync");
      sites = new Map(wanted.map((site) => [site.id, site]));
    },
    async put(site) {
      await points.pass("put");
      puts.push(site);
      sites.set(site.id, site);
    },
    async delete(siteId) {
      await points.pass("delete");
      sites.delete(siteId);
    },
    async inFlight({ port }) {
      await points.pass("inFlight");
      return busy.get(port) ?? 0;
    },
    answered: async () => ({ run: fake.run, bySite: new Map(fake.counts) }),
    publicUrl: (url) => url,
    async request(siteId) {
      const site = sites.get(siteId);
      if (site === undefined) return "404";
      const [upstream] = site.upstreams;
      return upstream === undefined ? "503" : await fetchBody(upstream);
    },
  };
  return fake;
}

function fetchBody({ host, port }: Upstream): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ host, port, agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve(Buffer.concat(chunks).toString());
    });
    request.on("error", () => resolve("502"));
  });
}
