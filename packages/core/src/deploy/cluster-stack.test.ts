import { describe, expect, test } from "vitest";
import { COMPOSE_KEYS, type KeyFate } from "../compose/keys.ts";
import type { ComposeDocument } from "../compose/schema.ts";
import { type ClusterStack, clusterConstraints, clusterProblems } from "./cluster-stack.ts";
import type { StorageMount } from "./storage-mount.ts";

/** A compose file with one container. */
const documentOf = (web: object, rest: object = {}): ComposeDocument =>
  ({ services: { web: { image: "web", ...web } }, ...rest }) as ComposeDocument; // As the reader makes it.
const problemsOf = (web: object, rest: object = {}, more: Partial<ClusterStack> = {}) =>
  clusterProblems({ document: documentOf(web, rest), containers: {}, ...more });
const own = (change: { readonly ports?: readonly number[]; readonly storages?: readonly StorageMount[] }) => ({
  containers: { web: { ports: [], storages: [], ...change } },
});
const VOLUME = { volumes: { data: null } };

describe("a compose file on a cluster", () => {
  test.each<[string, object, object?]>([
    ["what a container of it is made from", { command: ["a"], entrypoint: "b", environment: { A: "1" }, user: "1" }],
    [
      "limits and reservations",
      { mem_limit: "64m", cpus: 0.5, deploy: { resources: { reservations: { cpus: "1" } } } },
    ],
    ["constraints", { deploy: { placement: { constraints: ["node.labels.zone == a"] } } }],
    ["replicas", { deploy: { mode: "replicated", replicas: 3 } }],
    [
      "a check and dependencies",
      { healthcheck: { test: "true" }, depends_on: { db: { condition: "service_healthy" } } },
    ],
    ["options that are off", { privileged: false, devices: [], ports: [], network_mode: "bridge", security_opt: null }],
    ["a name, which others find it by", { container_name: "web-1", links: ["db"] }],
    ["a volume", { volumes: ["data:/data", "/anonymous", { type: "tmpfs", target: "/t" }] }, VOLUME],
    ["a folder beside the file", { volumes: ["./data:/data"] }],
    ["a file with content", { volumes: [{ type: "bind", source: "/etc/a", target: "/a", content: "a" }] }],
    ["networks of its own", { networks: { back: { aliases: ["a"] } } }, { networks: { back: { internal: true } } }],
    [
      "a volume of a file system in the network",
      { volumes: ["data:/data"] },
      { volumes: { data: { driver: "local", driver_opts: { type: "nfs", o: "addr=10.0.0.9,rw", device: ":/srv" } } } },
    ],
    ["an existing network", { networks: ["other"] }, { networks: { other: { external: true, driver: "macvlan" } } }],
  ])("may have %s", (_name, web, rest) => {
    expect(problemsOf(web, rest)).toEqual([]);
  });

  test.each<[object, RegExp, object?]>([
    [{ privileged: true }, /^services\.web\.privileged: Docker Swarm has no such option\..* a server with Docker\.$/],
    [{ devices: ["/dev/kvm"] }, /^services\.web\.devices: /],
    [{ network_mode: "host" }, /^services\.web\.network_mode: .*Remove it/],
    [{ pid: "service:db" }, /^services\.web\.pid: /],
    [{ cpu_shares: 5 }, /^services\.web\.cpu_shares: .*deploy\.resources\.limits\.cpus/],
    [{ volumes_from: ["db"] }, /^services\.web\.volumes_from: /],
    [{ links: ["db:database"] }, /^services\.web\.links: db:database .*aliases/],
    [{ extra_hosts: ["a:host-gateway"] }, /^services\.web\.extra_hosts: /],
    [{ ports: ["8080:80"] }, /^services\.web\.ports: .*Give the service a URL/],
    [{ deploy: { mode: "global" } }, /^services\.web\.deploy\.mode: global .*deploy\.replicas\.$/],
    [
      { deploy: { placement: { constraints: ["zone == a"] } } },
      /placement\.constraints: "zone == a" has an unknown key/,
    ],
    [{ deploy: { placement: { preferences: [{ spread: "a" }] } } }, /placement\.preferences: .*Use constraints/],
    [{ deploy: { resources: { reservations: { devices: [{}] } } } }, /resources\.reservations: Devices/],
    [{ volumes: ["/srv/data:/data"] }, /^services\.web\.volumes: \/srv\/data is a folder of one machine\. Use a named/],
    [{ volumes: ["/var/run/docker.sock:/s:ro"] }, /^services\.web\.volumes: \/var\/run\/docker\.sock/],
    [{ volumes: [{ type: "npipe", source: "a", target: "/a" }] }, /The type npipe is not supported/],
    [
      { volumes: ["data:/data"] },
      /data is external, so its node is not known/,
      { volumes: { data: { external: true } } },
    ],
    [{ volumes: ["data:/data"], scale: 2 }, /so there can be one\. Set its replicas to 1\.$/, VOLUME],
    [{ volumes: ["data:/d", { source: "./a", target: "/d/a", content: "" }] }, /\/d\/a is inside a volume/, VOLUME],
    [{ networks: { back: { ipv4_address: "10.0.0.2" } } }, /^services\.web\.networks\.back\.ipv4_address: /],
    [{}, /^networks\.lan\.driver: macvlan spans no nodes/, { networks: { lan: { driver: "macvlan" } } }],
    [{}, /^networks\.host\.external: host is a network of one machine/, { networks: { host: { external: true } } }],
    [{}, /^networks\.a\.external: docker_gwbridge /, { networks: { a: { external: true, name: "docker_gwbridge" } } }],
    [
      {},
      /^volumes\.a\.driver_opts: They mount a part/,
      { volumes: { a: { driver_opts: { type: "none", o: "bind", device: "/" } } } },
    ],
    [
      {},
      /^volumes\.a\.driver_opts: /,
      { volumes: { a: { driver_opts: { type: "nfs", o: "rw, bind", device: "/" } } } },
    ],
    [
      {},
      /^volumes\.a\.driver_opts: /,
      { volumes: { a: { driver_opts: { type: "overlay", o: "lowerdir=/etc", device: "overlay" } } } },
    ],
    [{}, /^volumes\.a\.driver: rexray may not be on every node/, { volumes: { a: { driver: "rexray" } } }],
    [{}, /^networks\.lan\.ipam: /, { networks: { lan: { ipam: { config: [{ subnet: "10.1.0.0/24" }] } } } }],
  ])("may not have %j, and the sentence says what to do", (web, sentence, rest) => {
    expect(problemsOf(web, rest)).toEqual([expect.stringMatching(sentence)]);
  });

  test("names all problems of all services at once", () => {
    const document = documentOf({ privileged: true, ipc: "host" }, {});
    const services = { ...document.services, db: { image: "db", pid: "host" } };
    const found = clusterProblems({ document: { ...document, services }, containers: {} });
    expect(found.map((one) => one.split(":")[0])).toEqual([
      "services.web.privileged",
      "services.web.ipc",
      "services.db.pid",
    ]);
  });

  test("may publish the ports of a container that has a URL: its proxy takes the requests", () => {
    expect(problemsOf({ ports: ["80:80"] }, {}, own({ ports: [80] }))).toEqual([]);
  });

  test("counts storages that replace mounts of the file, and numbers of containers set by hand", () => {
    const mount = { uuid: "u", name: "data", mountPath: "/data" };
    const folder = own({ storages: [{ ...mount, type: "folder", hostPath: "/srv" }] });
    expect(problemsOf({ volumes: ["data:/data"] }, VOLUME, folder)).toEqual([
      expect.stringContaining("/srv is a folder"),
    ]);
    const volume = own({ storages: [{ ...mount, type: "volume" }] });
    expect(problemsOf({ volumes: ["/srv:/data"] }, {}, volume)).toEqual([]);
    expect(problemsOf({}, {}, { ...volume, scale: { web: 2 } })).toEqual([expect.stringContaining("there can be one")]);
  });

  test("may have several containers with a file or a read-only folder of its source", () => {
    const web = { volumes: ["./conf:/conf:ro", "./a.txt:/a.txt"], scale: 2 };
    const files = ["/conf/a", "/a.txt"].map((mountPath) => ({ container: "web", mountPath }));
    expect(problemsOf(web, {}, { files })).toEqual([]);
    expect(problemsOf(web)).toHaveLength(1);
    const folder = { uuid: "u", name: "conf", type: "volume", mountPath: "/conf" } as const;
    const recorded = (isReadOnly: boolean) => own({ storages: [{ ...folder, isReadOnly }] });
    expect(problemsOf(web, {}, { files, ...recorded(true) })).toEqual([]);
    expect(problemsOf({ ...web, scale: 1 }, {}, { files, ...recorded(false) })).toEqual([
      expect.stringContaining("/conf/a is inside a volume"),
    ]);
  });

  test("has its constraints in Swarm's form", () => {
    const deploy = { placement: { constraints: ["node.role == worker", " node.labels.a!=b "] } };
    expect(clusterConstraints(documentOf({ deploy }).services.web ?? { image: "" })).toEqual([
      "node.role==worker",
      "node.labels.a!=b",
    ]);
  });

  test("decides about every key that the compose tool gets unchanged", () => {
    const fates: Readonly<Record<string, KeyFate>> = COMPOSE_KEYS.service;
    const passedOn = Object.entries(fates).flatMap(([key, fate]) => (fate === "passed_on" ? key : []));
    const refused = passedOn.filter((key) => problemsOf({ [key]: key === "links" ? ["a:b"] : "x" }).length > 0);
    const others = passedOn.filter((key) => !refused.includes(key));
    expect(others.sort()).toEqual(RUN_BY_CLUSTERS.toSorted());
  });
});

/** The draft of a container has them, and its service gets them from there. */
const RUN_BY_CLUSTERS = [
  ...["cap_add", "cap_drop", "command", "cpus", "depends_on", "dns", "dns_opt", "dns_search", "entrypoint"],
  ...["extra_hosts", "group_add", "healthcheck", "hostname", "init", "mem_limit", "mem_reservation", "pids_limit"],
  ...["platform", "read_only", "shm_size", "stdin_open", "stop_signal", "sysctls", "tmpfs", "tty", "ulimits", "user"],
  "working_dir",
];
