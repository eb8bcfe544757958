import { DomainError } from "@berth/core";
import type { AnsweredRequests, ClusterCertificate, ManagedProxyStatus, Site } from "@berth/core/ports";
import { certificateIssuer } from "@berth/host";
import { eventually } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { site } from "../proxy.fixture.ts";
import { CertificateCopies } from "./certificate-copies.ts";
import { type ClusterProxy, clusterProxy, nodeProxy } from "./cluster-proxy.ts";
import type { IngressNode } from "./ingress-node.ts";
import type { RecordedProxy } from "./recorded-proxy.ts";

/** Keeps its sites by id; `failure` is thrown by each change. */
function keepingProxy() {
  const kept = new Map<string, Site>();
  const state = {
    kept,
    failure: undefined as Error | undefined,
    status: "running" as ManagedProxyStatus["state"],
    inFlight: 0,
    answered: undefined as AnsweredRequests | undefined,
    certificates: [] as readonly ClusterCertificate[],
  };
  const changing = async (work: () => void) => {
    if (state.failure) throw state.failure;
    work();
  };
  const proxy: RecordedProxy = {
    capabilities: {} as RecordedProxy["capabilities"],
    lifecycle: {
      start: async () => {},
      restart: async () => {},
      stop: async () => {},
      status: async () => ({ type: "CADDY", state: state.status, image: null, startedAt: null, restartCount: 0 }),
    },
    use: () => {},
    sync: (sites) =>
      changing(() => {
        kept.clear();
        for (const one of sites) kept.set(one.id, one);
      }),
    put: (one) => changing(() => void kept.set(one.id, one)),
    delete: (id) => changing(() => void kept.delete(id)),
    inFlight: async () => state.inFlight,
    answered: async () => state.answered,
    certificates: async () => state.certificates,
    useCertificates: (certificates) =>
      changing(() => {
        state.certificates = certificates;
      }),
    publicUrl: (url) => url,
    urlProblem: () => undefined,
  };
  return { state, proxy };
}

function cluster(...names: readonly string[]) {
  const own = keepingProxy();
  const others = names.map((name) => ({ name, ...keepingProxy() }));
  let present: readonly IngressNode[] = others;
  const warnings: string[] = [];
  const nodes = async () => present;
  const warn = (message: string) => void warnings.push(message);
  const copies = new CertificateCopies({ read: () => own.proxy.certificates(), nodes, warn });
  let isOwnLost = false;
  const isLost = async () => isOwnLost;
  const proxy: ClusterProxy = clusterProxy(own.proxy, nodes, { copies, isLost, warn });
  const idsOf = () => [own, ...others].map(({ state }) => [...state.kept.keys()].join());
  return {
    own,
    others,
    proxy,
    warnings,
    idsOf,
    leave: () => (present = []),
    copies,
    lose: (is: boolean) => (isOwnLost = is),
  };
}

const UPSTREAM = { host: "10.0.1.2", port: 3000 };

test("all nodes that take requests have the same sites", async () => {
  const { proxy, idsOf } = cluster("b", "c");
  await proxy.sync([site("a", []), site("b", [])]);
  expect(idsOf()).toEqual(["a,b", "a,b", "a,b"]);
  await proxy.put(site("c", []));
  await proxy.delete("a");
  expect(idsOf()).toEqual(["b,c", "b,c", "b,c"]);
});

test("a node that begins to take requests gets the present sites, but none before they are known", async () => {
  const { proxy, others, idsOf } = cluster("b");
  await others[0]?.proxy.put(site("kept", []));
  await proxy.nodesChanged();
  expect(idsOf()).toEqual(["", "kept"]);
  await proxy.sync([site("a", [])]);
  others[0]?.state.kept.clear();
  await proxy.nodesChanged();
  expect(idsOf()).toEqual(["a", "a"]);
});

test("a node that does not serve keeps nobody back, and is reported once", async () => {
  const { proxy, others, idsOf, warnings } = cluster("b", "c");
  const [lost] = others;
  if (lost === undefined) throw new Error("It was made above");
  lost.state.failure = new DomainError("engine.unreachable", "It does not answer.");
  lost.state.status = "exited";
  await proxy.sync([site("a", [])]);
  await proxy.put(site("b", []));
  expect(idsOf()).toEqual(["a,b", "", "a,b"]);
  expect(warnings).toEqual(["Node b does not get the sites of its cluster."]);
  lost.state.failure = undefined;
  await proxy.put(site("c", []));
  expect(idsOf()).toEqual(["a,b,c", "c", "a,b,c"]);
});

test("a node that serves and cannot be told fails the change, after all others were told", async () => {
  const { proxy, others, idsOf } = cluster("b", "c");
  if (others[0] !== undefined) others[0].state.failure = new DomainError("engine.failed", "The disk is full.");
  await expect(proxy.put(site("a", []))).rejects.toThrow("The disk is full.");
  expect(idsOf()).toEqual(["a", "", "a"]);
});

test("a manager that is lost keeps no change back, and gets the present sites when it is back", async () => {
  const { proxy, own, idsOf, lose } = cluster("b");
  await proxy.sync([site("a", []), site("b", [])]);
  own.state.failure = new DomainError("server.unreachable", "It does not answer.");
  own.state.inFlight = 3;
  lose(true);
  await proxy.put(site("c", []));
  await proxy.delete("a");
  expect(idsOf()).toEqual(["a,b", "b,c"]);
  expect(await proxy.inFlight(UPSTREAM)).toBe(0);
  own.state.failure = undefined;
  lose(false);
  await proxy.ownReturned();
  expect(idsOf()).toEqual(["b,c", "b,c"]);
});

test("a manager that only Berth does not reach fails the change: its proxy may serve", async () => {
  const { proxy, own } = cluster("b");
  own.state.failure = new DomainError("server.unreachable", "It does not answer.");
  await expect(proxy.put(site("a", []))).rejects.toThrow("It does not answer.");
});

test("requests are counted on all nodes together", async () => {
  const { proxy, own, others } = cluster("b");
  own.state.inFlight = 2;
  own.state.answered = { run: "1", bySite: new Map([["a", 5]]) };
  expect(await proxy.inFlight(UPSTREAM)).toBe(2);
  expect(await proxy.answered()).toEqual({ run: "1", bySite: new Map([["a", 5]]) });
  if (others[0] === undefined) return;
  others[0].state.inFlight = 3;
  others[0].state.answered = { run: "2", bySite: new Map([["a", 1], ["b", 4]]) }; // biome-ignore format: a row.
  expect(await proxy.inFlight(UPSTREAM)).toBe(5);
  expect(await proxy.answered()).toEqual({ run: "1 2", bySite: new Map([["a", 6], ["b", 4]]) }); // biome-ignore format: a row.
});

describe("certificates of a cluster", () => {
  const issued = async (host: string): Promise<ClusterCertificate> => {
    const [notBefore, notAfter] = [-1, 1].map((hours) => new Date(Date.now() + hours * 3_600_000)) as [Date, Date];
    const { certificate, key } = await certificateIssuer.issue({
      ...{ names: [host], notBefore, notAfter, authority: { name: "Test", notAfter } },
    });
    return { name: host, certificate, key };
  };
  const secure = (id: string, host: string) => site(id, [], { routes: [{ host, path: "/", isHttps: true }] });

  test("are given to its nodes once the manager has obtained them", async () => {
    const { proxy, own, others, copies } = cluster("b", "c");
    const namesOf = () => others.map(({ state }) => state.certificates.map(({ name }) => name).join());
    const first = await issued("a.test");
    own.state.certificates = [first];
    await proxy.sync([secure("a", "a.test")]);
    await eventually(() => expect(namesOf()).toEqual(["a.test", "a.test"]));
    await proxy.put(secure("b", "b.test"));
    own.state.certificates = [first, await issued("b.test")];
    await eventually(() => expect(namesOf()).toEqual(["a.test,b.test", "a.test,b.test"]));
    await copies.close();
  });

  test("are not read while no site and no node needs them", async () => {
    const { proxy, own, others, copies, leave } = cluster("b");
    own.state.certificates = [await issued("a.test")];
    await proxy.sync([site("a", [])]);
    leave();
    await proxy.put(secure("b", "a.test"));
    await copies.close();
    expect(others[0]?.state.certificates).toEqual([]);
  });
});

test("the server of a node leaves its proxy to the cluster while that uses it", async () => {
  const { state, proxy } = keepingProxy();
  let isIngress = true;
  const own = nodeProxy(proxy, () => isIngress);
  await proxy.put(site("a", []));
  await own.sync([]);
  expect([...state.kept.keys()]).toEqual(["a"]);
  isIngress = false;
  await own.sync([]);
  expect([...state.kept.keys()]).toEqual([]);
});
