import type { ProxyLifecycle, ServerRecord, Site, Proxy as SiteProxy } from "@berth/core/ports";
import { proxyProblem } from "@berth/core/server";
import pLimit from "p-limit";
import type { EmbeddedProxy } from "./embedded.ts";
import type { RecordedProxy } from "./server/recorded-proxy.ts";

type FrontRecord = Parameters<RecordedProxy["use"]>[0] & Pick<ServerRecord, "proxy_status">;

/**
 * The proxy of this machine's Docker engine, which has the public ports and the certificates. Its sites of containers
 * are its own; requests for guests, the sites of processes, are forwarded to the embedded proxy. A switch between two
 * releases of a process changes nothing here, so this proxy cannot delay or break it.
 */
export interface FrontDoor extends SiteProxy {
  readonly lifecycle: ProxyLifecycle;
  use(server: FrontRecord): void;
  /** Whether the server's record asks for a proxy that runs. */
  isWanted(): boolean;
  /** Whether the URL of a guest is opened through this proxy. One with https is, or nothing answers at it. */
  serves(url: string): boolean;
  /** Why it answers at no URL, and what to do. */
  problem(): string | undefined;
  putGuest(site: Site): Promise<void>;
  deleteGuest(siteId: string): Promise<void>;
  /** Tells the differences, once the server's own synchronisation has told everything. */
  followGuests(): Promise<void>;
}

/** @param guests The sites to forward, as of now. */
export function frontDoor(first: FrontRecord, proxy: RecordedProxy, guests: () => readonly Site[]): FrontDoor {
  // A list of guests must not overtake a change of one of them.
  const inTurn = pLimit(1);
  let record = first;
  /** `undefined`: not known yet. */
  let isServing = first.proxy_status === "running" ? true : undefined;
  /** Guests as they were told last; `undefined` before the first synchronisation. */
  let told: Map<string, string> | undefined;
  /** Ids of its own sites. An application that moves between the machine's two servers has the same id as a guest. */
  let own = new Set<string>();

  const isWanted = () => !record.is_proxy_stopped && HAS_PROXY.has(record.proxy_type);

  const noting = async (work: () => Promise<void>) => {
    try {
      await work();
      isServing = isWanted();
    } catch (error) {
      isServing = false;
      throw error;
    }
  };
  const isAbsent = async () => (await proxy.lifecycle.status()).state === "absent";

  const put = async (site: Site) => {
    if (!isWanted() || own.has(site.id) || told?.get(site.id) === textOf(site)) return;
    if (!needsFront(site) && (await isAbsent())) return;
    await noting(() => proxy.put(site));
    told?.set(site.id, textOf(site));
  };
  const remove = async (siteId: string) => {
    if (!isWanted() || own.has(siteId) || told?.has(siteId) === false) return;
    await proxy.delete(siteId);
    told?.delete(siteId);
  };

  const follow = async () => {
    if (told === undefined) return;
    const wanted = guests().filter(({ id }) => !own.has(id));
    const ids = new Set(wanted.map(({ id }) => id));
    // Removed first, since another guest may have got its name. One that fails does not hold back the others.
    const gone = [...told.keys()].filter((id) => !ids.has(id));
    const changes = [...gone.map((id) => () => remove(id)), ...wanted.map((site) => () => put(site))];
    const failures: unknown[] = [];
    for (const change of changes) await change().catch((cause: unknown) => failures.push(cause));
    if (failures.length > 0) throw failures[0];
  };

  return {
    get capabilities() {
      return proxy.capabilities;
    },
    lifecycle: {
      ...proxy.lifecycle,
      async status() {
        const status = await proxy.lifecycle.status();
        isServing = isWanted() && status.state === "running";
        return status;
      },
    },
    use(server) {
      record = server;
      proxy.use(server);
    },
    isWanted,
    serves: (url) => isHttps(url) || (isWanted() && (isServing ?? !isLocalName(hostOf(url)))),
    problem: () => proxyProblem(record),
    sync: (sites) =>
      inTurn(async () => {
        own = new Set(sites.map(({ id }) => id));
        const all = guests().filter(({ id }) => !own.has(id));
        const isNeeded = sites.length > 0 || all.some(needsFront) || !(await isAbsent());
        const sent = isNeeded && HAS_PROXY.has(record.proxy_type) ? all : [];
        const work = () => proxy.sync([...sites, ...sent]);
        await (isNeeded ? noting(work) : work());
        told = new Map(sent.map((site) => [site.id, textOf(site)]));
      }),
    put: (site) =>
      inTurn(async () => {
        const wasServing = isServing === true;
        await noting(() => proxy.put(site));
        own.add(site.id);
        told?.delete(site.id);
        // The first site started the proxy, at whose ports guests are opened from now on. What fails is sent again by the
        // next synchronisation.
        if (wasServing) return;
        await follow().catch(() => undefined);
        isServing = isWanted();
      }),
    delete: (siteId) =>
      inTurn(async () => {
        own.delete(siteId);
        const guest = guests().find(({ id }) => id === siteId);
        // Replaced instead of removed, so that no request is left without an answer.
        if (guest === undefined) await proxy.delete(siteId);
        else await put(guest);
      }),
    putGuest: (site) => inTurn(() => put(site)),
    deleteGuest: (siteId) => inTurn(() => remove(siteId)),
    followGuests: () => inTurn(follow),
    inFlight: (upstream) => proxy.inFlight(upstream),
    answered: () => proxy.answered(),
    publicUrl: (url) => proxy.publicUrl(url),
    urlProblem: (url) => proxy.urlProblem?.(url),
  };
}

/**
 * The embedded proxy of a machine on which another one may have the public ports.
 * @param front The other one; `undefined` where no Docker engine answered.
 */
export function behindFrontDoor(embedded: EmbeddedProxy, front: () => FrontDoor | undefined): SiteProxy {
  return {
    get capabilities() {
      return { ...embedded.capabilities, https: front()?.isWanted() ?? false };
    },
    async sync(sites) {
      await embedded.sync(sites);
      // Where it fails, the Docker server's own synchronisation tells it again, and reports why.
      await front()
        ?.followGuests()
        .catch(() => undefined);
    },
    async put(site) {
      await embedded.put(site);
      await front()
        ?.putGuest(guestOf(site, embedded))
        .catch((error: unknown) => {
          // http is served by the embedded proxy itself, on its own port.
          if (site.routes.some((route) => route.isHttps)) throw error;
        });
    },
    async delete(siteId) {
      await embedded.delete(siteId);
      await front()
        ?.deleteGuest(siteId)
        .catch(() => undefined);
    },
    inFlight: (upstream) => embedded.inFlight(upstream),
    answered: () => embedded.answered(),
    publicUrl(url) {
      const door = front();
      const isServed = door?.serves(url) === true && (isHttps(url) || embedded.port !== HTTP_PORT);
      return door !== undefined && isServed ? door.publicUrl(url) : embedded.publicUrl(url);
    },
    urlProblem(url) {
      if (!isHttps(url)) return undefined;
      const door = front();
      const problem = door === undefined ? NO_CERTIFICATES : door.problem();
      return problem && `Nothing answers at ${url}. ${problem}`;
    },
  };
}

/** The sites that a front door forwards to this proxy; none before it is opened. */
export const guestsOf = (embedded: EmbeddedProxy | undefined): readonly Site[] =>
  embedded?.sites().map((site) => guestOf(site, embedded)) ?? [];

/** Passwords, prefixes and upstreams of the site stay with the embedded proxy. */
const guestOf = ({ id, name, routes, isHttpsForced, isCompressed }: Site, embedded: EmbeddedProxy): Site => ({
  id,
  name,
  routes: routes.map(({ upstreamPort: _itsOwn, ...route }) => route),
  upstreams: [{ host: embedded.localHost, port: embedded.port }],
  isHttpsForced,
  isCompressed,
});

/** Names of this machine alone are served by the embedded proxy, and start no other one. */
const needsFront = ({ routes }: Site): boolean => routes.some((route) => route.isHttps || !isLocalName(route.host));

const isLocalName = (host: string): boolean => /(^|\.)localhost$/.test(host);
const hostOf = (url: string): string => URL.parse(url)?.hostname ?? "";
const isHttps = (url: string): boolean => /^https:/i.test(url);
const textOf = (site: Site): string => JSON.stringify(site);

const HAS_PROXY: ReadonlySet<string> = new Set(["CADDY", "TRAEFIK"]);
const HTTP_PORT = 80;
const NO_CERTIFICATES =
  "Processes have no certificates without Docker on this machine. Change it to http://, behind a TLS proxy of your own.";
