import type { CertificateOwner, MissingCertificate, SeenCertificate, ServerRecord, Site } from "@berth/core/ports";
import { testSites, until } from "@berth/testing";
import { expect, test } from "vitest";
import { CertificateChecks, type CertificateChecksDeps } from "./certificate-checks.ts";
import type { ServerAdapters } from "./server-adapters.ts";

const MISSING: MissingCertificate = { failure: "None.", isReached: true };
const SILENT: MissingCertificate = { failure: "Nobody answers.", isReached: false };
const never = () => new Promise<never>(() => {});

function serverWith(id: number, hostCount: number): ServerAdapters {
  const routes = Array.from({ length: hostCount }, (_, n) => ({ host: `h${n}.s${id}.example.com`, isHttps: true }));
  const sites: ReadonlyMap<string, Site> = new Map([["site", { routes, upstreams: [{}] } as unknown as Site]]);
  const server = { id, name: `s${id}`, settings: { is_reachable: true, is_usable: true } } as ServerRecord;
  // Nothing else is read here.
  return { server, router: { sites: () => sites }, proxy: {} } as unknown as ServerAdapters;
}

/** Checks of servers whose certificates are always due. */
function checking(
  certificate: (serverId: number) => Promise<SeenCertificate | MissingCertificate>,
  {
    isHeld = () => true,
    addresses = testSites.addresses,
  }: Partial<{ isHeld(): boolean; addresses: typeof testSites.addresses }> = {},
) {
  const asked: number[] = [];
  const recorded: number[] = [];
  const owners = async (serverId: number, hosts: readonly string[]): Promise<readonly CertificateOwner[]> =>
    hosts.map((host) => ({ resource_id: serverId, host, recorded: null, is_on_several: false }));
  const record = async (found: readonly { readonly resource_id: number }[]) => {
    recorded.push(...found.map(({ resource_id }) => resource_id));
  };
  const checks = new CertificateChecks({
    stores: { certificateProblems: { owners, record } } as unknown as CertificateChecksDeps["stores"], // Nothing else is called here.
    clock: { now: () => new Date() },
    logger: { debug() {}, info() {}, warn() {}, error() {} } as unknown as CertificateChecksDeps["logger"], // It is not read.
    settings: {
      certificateSeconds: 0,
      certificateFirstSeconds: 0,
      certificateGraceSeconds: 0,
      certificateRetrySecondsMax: 0,
      certificateKeptSeconds: 0,
    },
    serverLeases: { acquire: async () => isHeld() },
    sites: {
      ...testSites,
      addresses,
      async certificate({ id }) {
        asked.push(id);
        return await certificate(id);
      },
    },
  });
  const stopping = new AbortController();
  const begin = (...own: readonly ServerAdapters[]) => checks.begin(own, [], stopping.signal);
  const askedOf = (id: number) => asked.filter((other) => other === id).length;
  return { checks, begin, askedOf, recorded, stopping };
}

test("a server whose proxy hangs delays no other, and ends when the worker stops", async () => {
  const { checks, begin, askedOf, recorded, stopping } = checking((id) =>
    id === 1 ? never() : Promise.resolve(MISSING),
  );
  const servers = [serverWith(1, 50), serverWith(2, 1)];
  const untilRecorded = until(
    () => {
      begin(...servers);
      return recorded.length > 2;
    },
    { what: "the other server is checked" },
  );
  await untilRecorded;
  expect(new Set(recorded)).toEqual(new Set([2]));
  // Two at once, and its round still runs.
  expect(askedOf(1)).toBe(2);
  stopping.abort();
  await checks.ended();
  const count = askedOf(2);
  begin(...servers);
  expect([askedOf(1), askedOf(2)]).toEqual([2, count]);
});

test("a name server that is silent keeps no proxy from being asked", async () => {
  const { begin, askedOf, checks, stopping } = checking(async () => MISSING, { addresses: never });
  const server = serverWith(1, 50);
  begin(server);
  await until(() => askedOf(1) === 50, { what: "each host is checked" });
  // Each is faulty for the second time, so its name is resolved.
  await checks.ended();
  begin(server);
  await until(() => askedOf(1) === 100, { what: "each host is checked again" });
  stopping.abort();
  await checks.ended();
});

test("a proxy that is silent is asked three times in a round", async () => {
  const { begin, askedOf, checks } = checking(async () => SILENT);
  begin(serverWith(1, 50));
  await checks.ended();
  expect(askedOf(1)).toBeLessThanOrEqual(4);
});

test("nothing is recorded of a server whose lease was lost while it was checked", async () => {
  let isHeld = true;
  const { begin, askedOf, checks, recorded } = checking(
    async () => {
      isHeld = askedOf(1) < 2;
      return MISSING;
    },
    { isHeld: () => isHeld },
  );
  const server = serverWith(1, 1);
  begin(server);
  await checks.ended();
  begin(server);
  await checks.ended();
  expect(askedOf(1)).toBe(2);
  expect(recorded).toEqual([]);
});
