import type { ApplicationRecord, MissingCertificate, SeenCertificate, SystemStores } from "@berth/core/ports";
import { testSites, until } from "@berth/testing";
import { expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { TestWorkerOptions, World } from "./world.fixture.ts";

const DAY_MS = 86_400_000;
const GOOD: SeenCertificate = {
  issuer: "Test authority",
  startsAt: new Date(Date.now() - 60 * DAY_MS),
  expiresAt: new Date(Date.now() + 30 * DAY_MS),
  isForName: true,
  problem: null,
};
const NONE: MissingCertificate = { failure: "None.", isReached: true };
const NOBODY: MissingCertificate = { failure: "Nobody answers.", isReached: false };

let world: World;
openEachWorld((opened) => {
  world = opened;
});

/** A worker whose servers present what `presented` says, and the checks of them. */
function watching(presented: (host: string) => SeenCertificate | MissingCertificate, options: TestWorkerOptions = {}) {
  const checks: string[] = [];
  const resolved: string[] = [];
  const sites: TestWorkerOptions["sites"] = {
    ...testSites,
    addresses(host) {
      resolved.push(host);
      return testSites.addresses(host);
    },
    async certificate(_server, host) {
      checks.push(host);
      return presented(host);
    },
  };
  return { checks, resolved, worker: world.worker({ sites, ...options }) };
}

const hostOf = ({ uuid }: ApplicationRecord) => `${uuid}.example.com`;
const live = async () => {
  const application = await world.application();
  await world.ended(await world.deploy(application));
  return application;
};
const problemOf = async ({ id }: ApplicationRecord) =>
  (await world.stores.resources.summaries([id]))[0]?.certificate_problem;
const reports = async ({ uuid }: ApplicationRecord) =>
  (await world.stores.events.list({ after: 0 })).filter(
    ({ type, resource_uuid }) => type === "resource.certificate_changed" && resource_uuid === uuid,
  ).length;

/** Stores that count how often the servers are read, as each loop does. */
function countedRounds() {
  let rounds = 0;
  const { servers } = world.system;
  const list = () => {
    rounds += 1;
    return servers.list();
  };
  return {
    stores: { ...world.system, servers: { ...servers, list } },
    async untilRounds(more: number) {
      const count = rounds;
      await until(() => rounds > count + more, { what: "there are rounds" });
    },
  };
}

test("a certificate that stays missing is named until there is one, and each change is reported once", async () => {
  let presented: SeenCertificate | MissingCertificate = NONE;
  const { checks } = watching(() => presented);
  const application = await live();
  const problem = await until(() => problemOf(application), { what: "it is named" });
  expect(problem).toEqual({
    reason: `The proxy has no certificate for ${hostOf(application)}. Check that ports 80 and 443 are open to the internet.`,
    is_refused: true,
  });
  const count = checks.length;
  await until(() => checks.length > count + 3, { what: "it is checked again" });
  expect(await reports(application)).toBe(1);
  presented = GOOD;
  await until(async () => (await problemOf(application)) === null, { what: "it is named no more" });
  expect(await reports(application)).toBe(2);
});

test("a certificate that is being issued is not named, nor is its DNS record asked for", async () => {
  const { checks, resolved } = watching(() => NONE, { settings: { certificateGraceSeconds: 3600 } });
  const application = await live();
  await until(() => checks.length > 3, { what: "it is checked" });
  expect(await problemOf(application)).toBeNull();
  expect(resolved).toEqual([]);
});

test("what could not be recorded is found again", async () => {
  const { certificateProblems } = world.system;
  let failures = 0;
  let presented: SeenCertificate | MissingCertificate = NONE;
  const stores: SystemStores = {
    ...world.system,
    certificateProblems: {
      ...certificateProblems,
      record(found) {
        if (presented === NONE || failures > 0) return certificateProblems.record(found);
        failures += 1;
        return Promise.reject(new Error("The connection is lost."));
      },
    },
  };
  watching(() => presented, { stores, settings: { certificateKeptSeconds: 3600 } });
  const application = await live();
  await until(() => problemOf(application), { what: "it is named" });
  presented = GOOD;
  await until(async () => (await problemOf(application)) === null, { what: "it is named no more" });
  expect(failures).toBe(1);
});

test("one that ends soon is named at once", async () => {
  const soon = { ...GOOD, expiresAt: new Date(Date.now() + 5 * DAY_MS) };
  watching(() => soon, { settings: { certificateGraceSeconds: 3600 } });
  const application = await live();
  const problem = await until(() => problemOf(application), { what: "it is named" });
  expect(problem).toEqual({ reason: expect.stringContaining("was not renewed"), is_refused: false });
});

test("good ones are checked rarely, and nothing is written about them", async () => {
  let writes = 0;
  const { certificateProblems } = world.system;
  const stores: SystemStores = {
    ...world.system,
    certificateProblems: {
      ...certificateProblems,
      record(found) {
        writes += 1;
        return certificateProblems.record(found);
      },
    },
  };
  const presented = new Map<string, SeenCertificate | MissingCertificate>();
  const { checks } = watching((host) => presented.get(host) ?? GOOD, {
    stores,
    settings: { certificateKeptSeconds: 3600 },
  });
  const good = await live();
  await until(() => checks.includes(hostOf(good)), { what: "it is checked" });
  expect(writes).toBe(0);
  const missing = await world.application();
  presented.set(hostOf(missing), NONE);
  await world.ended(await world.deploy(missing));
  await until(() => problemOf(missing), { what: "the missing one is named" });
  expect(checks.filter((host) => host === hostOf(good))).toHaveLength(1);
});

test("a proxy that does not answer is not asked again for each of its hosts, and reported for a few of them", async () => {
  // All hosts are due in each round.
  const settings = { certificateSeconds: 0.05, certificateFirstSeconds: 0, certificateGraceSeconds: 0 };
  const { stores, untilRounds } = countedRounds();
  let presented: SeenCertificate | MissingCertificate = NOBODY;
  const { checks } = watching(() => presented, { stores, settings });
  const resource = await world.application();
  const hosts = Array.from({ length: 100 }, (_, n) => `h${n}.${hostOf(resource)}`);
  const claims = hosts.map((host) => ({ host, path: "/", url: `https://${host}` }));
  await world.stores.domains.claim(resource.id, claims, { takeFromOwnTeam: false });
  await world.ended(await world.deploy(resource));
  const problem = await until(() => problemOf(resource), { what: "it is named" });
  expect(problem?.reason).toMatch(/does not open: the proxy does not answer\. Check that ports/);
  // A few in each round, and it takes two rounds to name it.
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.length).toBeLessThan(hosts.length);
  await untilRounds(10);
  expect(await reports(resource)).toBe(3);
  presented = GOOD;
  await until(async () => (await problemOf(resource)) === null, { what: "it is named no more" });
  expect(await reports(resource)).toBe(6);
});

test("a name whose addresses rotate is reported once", async () => {
  const answers = [["198.51.100.1", "198.51.100.2"], ["198.51.100.2", "198.51.100.1"], ["198.51.100.3"]];
  let resolved = 0;
  const sites: TestWorkerOptions["sites"] = {
    ...testSites,
    async addresses() {
      resolved += 1;
      return { addresses: answers[resolved % answers.length] ?? [], hasHidden: false };
    },
    certificate: async () => ({ failure: `It broke off at ${resolved}.`, isReached: true }),
  };
  world.worker({ sites });
  const application = await live();
  const problem = await until(() => problemOf(application), { what: "it is named" });
  expect(problem).toEqual({ reason: expect.stringContaining("resolves to another address"), is_refused: false });
  const count = resolved;
  await until(() => resolved > count + 6, { what: "it is checked again" });
  expect(await reports(application)).toBe(1);
});

test("the proxy of a server that cannot be used is not asked", async () => {
  const { stores, untilRounds } = countedRounds();
  const { checks } = watching(() => NONE, { stores });
  await live();
  await until(() => checks.length > 0, { what: "it is checked" });
  const { settings } = world.server;
  await world.stores.servers.update(world.server.uuid, { settings: { ...settings, is_usable: false } });
  await untilRounds(3);
  const count = checks.length;
  await untilRounds(5);
  expect(checks.length).toBe(count);
});

test("without https URLs of running resources no proxy is asked, nor are certificates read from the database", async () => {
  let asked = 0;
  const { certificateProblems } = world.system;
  const { stores: counted, untilRounds } = countedRounds();
  const stores: SystemStores = {
    ...counted,
    certificateProblems: {
      ...certificateProblems,
      owners(...given) {
        asked += 1;
        return certificateProblems.owners(...given);
      },
    },
  };
  const resource = await world.application();
  const host = hostOf(resource);
  const claim = (...urls: readonly string[]) => {
    const claims = urls.map((url) => ({ host: new URL(url).hostname, path: "/", url }));
    return world.stores.domains.claim(resource.id, claims, { takeFromOwnTeam: false });
  };
  await claim(`http://${host}`, "https://shop.test", "https://203.0.113.9");
  // It never ran, so its site is down.
  await world.application();
  const { checks } = watching(() => NONE, { stores });
  await world.ended(await world.deploy(resource));
  await untilRounds(5);
  expect([asked, checks]).toEqual([0, []]);
  await claim(`https://${host}`);
  await until(() => checks.length > 0, { what: "it is checked" });
  expect(asked).toBeGreaterThan(0);
});
