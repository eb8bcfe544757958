import { describe, expect, test } from "vitest";
import type { SwarmNode } from "../ports/server-machine.ts";
import {
  type ClusterRecords,
  clusterFindings,
  clusterHead,
  hasMajority,
  isNodeOf,
  lossTolerated,
  noLeader,
  sameNodeProblem,
  withTolerance,
} from "./cluster.ts";
import type { EngineKind } from "./server-settings.ts";

const MANAGER: SwarmNode = { nodeId: "n1", isManager: true, clusterId: "c1", managers: [], managerCount: 3 };
const LEADERLESS: SwarmNode = { ...MANAGER, clusterId: null, managerCount: 0 };
const WORKER: SwarmNode = {
  ...{ nodeId: "n2", isManager: false, clusterId: null, managerCount: 0 },
  managers: [{ nodeId: "n1", address: "10.0.0.1" }],
};
const SINGLE_MANAGER = { team_id: 1, name: "web-1", engine: "docker" } as const;
const HEAD = { ...SINGLE_MANAGER, engine: "swarm" } as const;
const HEAD_OF_OTHERS = { ...HEAD, team_id: 2 };
const REMOTE = { ip: "10.0.0.7", private_key_id: 1, swarm_cluster_id: null, swarm_node_id: null };
const NOTHING: ClusterRecords = { isInUse: false, managers: [] };
const USED: ClusterRecords = { isInUse: true, managers: [] };

const NONE_TOLERATED = (managers: string) =>
  `Its Docker Swarm has ${managers} and tolerates the loss of none. Promote nodes until it has 3: berth cluster promote NODE.`;

const found = (engine: EngineKind, node: SwarmNode | null, records: ClusterRecords, is_build_server = false) =>
  clusterFindings({ ...REMOTE, team_id: 1, engine, settings: { is_build_server } }, node, records);

describe("a validated server", () => {
  test.each<[string, EngineKind, SwarmNode | null, ClusterRecords, EngineKind]>([
    ["in no cluster stays single", "docker", null, NOTHING, "docker"],
    ["that is a manager drives its cluster", "docker", MANAGER, NOTHING, "swarm"],
    ["that is a manager with resources stays single", "docker", MANAGER, USED, "docker"],
    ["that is a worker node stays single", "docker", WORKER, NOTHING, "docker"],
    ["that drives its cluster continues to", "swarm", MANAGER, NOTHING, "swarm"],
    ["that left its cluster is single again", "swarm", null, NOTHING, "docker"],
    ["that was demoted is single again", "swarm", WORKER, NOTHING, "docker"],
    ["that left its cluster with resources stays as it is", "swarm", null, USED, "swarm"],
    ["without a leader drives its cluster", "docker", LEADERLESS, NOTHING, "swarm"],
    [
      "beside a single manager drives the cluster",
      "docker",
      MANAGER,
      { ...NOTHING, managers: [SINGLE_MANAGER] },
      "swarm",
    ],
    ["beside the one that drives stays single", "docker", MANAGER, { ...NOTHING, managers: [HEAD] }, "docker"],
    [
      "beside one of another team stays single",
      "docker",
      MANAGER,
      { ...NOTHING, managers: [HEAD_OF_OTHERS] },
      "docker",
    ],
  ])("%s", (_title, before, node, records, after) => {
    expect(found(before, node, records).engine).toBe(after);
  });

  test("that only builds stays single", () => {
    expect(found("docker", MANAGER, NOTHING, true)).toMatchObject({ engine: "docker", obstacle: null, warnings: [] });
  });

  test.each<[string, EngineKind, SwarmNode | null, ClusterRecords, RegExp | null]>([
    ["is well as a manager", "swarm", MANAGER, USED, null],
    ["is well as a single server in a cluster", "docker", MANAGER, USED, null],
    [
      "left its cluster with resources",
      "swarm",
      null,
      USED,
      /not a manager .* docker swarm join.* or remove its resources/,
    ],
    ["was demoted with resources", "swarm", WORKER, USED, /not a manager of a Docker Swarm any more/],
    ["left its cluster without resources", "swarm", null, NOTHING, null],
    ["has no leader", "swarm", LEADERLESS, USED, /no leader.* start them.*--force-new-cluster .* on this server,/],
    ["shares its cluster", "swarm", MANAGER, { ...USED, managers: [HEAD] }, /used through another server too/],
  ])("that %s says what to do about it", (_title, engine, node, records, obstacle) => {
    const said = found(engine, node, records).obstacle;
    if (obstacle === null) expect(said).toBeNull();
    else expect(said).toMatch(obstacle);
  });

  test.each<[string, EngineKind, SwarmNode | null, ClusterRecords, readonly RegExp[]]>([
    ["three managers", "docker", MANAGER, NOTHING, []],
    [
      "two managers",
      "docker",
      { ...MANAGER, managerCount: 2 },
      NOTHING,
      [/has 2 managers and tolerates .* none.* until it has 3/],
    ],
    ["one manager", "swarm", { ...MANAGER, managerCount: 1 }, USED, [/has 1 manager and/]],
    ["a number of managers that is unknown", "swarm", LEADERLESS, USED, []],
    ["resources from before", "docker", MANAGER, USED, [/stays a single Docker server.*remove its resources/]],
    [
      "no manager in the team",
      "docker",
      WORKER,
      NOTHING,
      [/worker node .* add one of its managers .* at 10\.0\.0\.1\.$/],
    ],
    ["no manager known", "docker", { ...WORKER, managers: [] }, USED, [/add one of its managers as a server\.$/]],
    ["a manager of another team", "docker", WORKER, { ...NOTHING, managers: [HEAD_OF_OTHERS] }, [/worker node/]],
    ["a manager of the team", "docker", WORKER, { ...NOTHING, managers: [SINGLE_MANAGER] }, []],
    ["another server that drives it", "docker", { ...MANAGER, managerCount: 1 }, { ...NOTHING, managers: [HEAD] }, []],
  ])("with %s is warned about that alone", (_title, engine, node, records, warnings) => {
    const said = found(engine, node, records).warnings;
    expect(said).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
  });
});

test.each([
  ...[
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 1],
    [4, 1],
    [5, 2],
    [7, 3],
  ],
])("of %i managers, %i may be lost", (managers, lost) => {
  expect(lossTolerated(managers)).toBe(lost);
  expect(hasMajority(managers - lost, managers)).toBe(true);
  expect(hasMajority(managers - lost - 1, managers)).toBe(false);
});

test("a cluster without a leader says since when, if that is known", () => {
  expect(noLeader("web-1").message).toMatch(
    /^The Docker Swarm of web-1 has no leader\. Managers choose another leader within seconds: try again\. If this lasts/,
  );
  const since = new Date("2026-11-28T09:19:50.123Z");
  expect(noLeader("web-1", { since }).message).toMatch(/ has had no leader since 2026-11-28 09:19:50 UTC\. Managers /);
});

describe("the server that places resources in a cluster", () => {
  const head = { engine: "swarm", swarm_cluster: 7 } as const;
  test.each<[string, EngineKind, number | null, boolean]>([
    ["is another one for its nodes", "docker", 7, true],
    ["is the head itself for it", "swarm", 7, false],
    ["does not exist for a node of another cluster", "docker", 8, false],
    ["does not exist for a server outside", "docker", null, false],
  ])("%s", (_title, engine, swarm_cluster, isFound) => {
    expect(clusterHead({ engine, swarm_cluster }, [head])).toBe(isFound ? head : undefined);
  });

  test("does not exist while the manager is a single server", () => {
    const single = { engine: "docker", swarm_cluster: 7 } as const;
    expect(clusterHead(single, [single])).toBeUndefined();
  });
});

describe("Berth's own machine", () => {
  const head = { ...REMOTE, id: 1, team_id: 0, engine: "swarm", swarm_cluster: 1 } as const;
  const node = { ...head, id: 2, engine: "docker" } as const;

  test.each([
    ["a node of the team", node, true],
    ["the head itself", head, true],
    ["a node of another cluster", { ...node, swarm_cluster: 3 }, false],
    ["a node of another team", { ...node, team_id: 1 }, false],
    ["Berth's own machine, by a local address", { ...node, ip: "127.0.0.1" }, false],
    ["Berth's own machine, without a login", { ...node, private_key_id: null }, false],
  ])("%s: gets containers of the cluster: %o", (_what, server, isOne) => {
    expect(isNodeOf(server, head)).toBe(isOne);
  });

  test("as the head gets those of its own cluster", () => {
    const own = { ...head, ip: "localhost", private_key_id: null };
    expect(isNodeOf(own, own)).toBe(true);
  });

  test("is told that it gets none of the cluster of another server, whose managers control it", () => {
    const own = { ...REMOTE, ip: "localhost", private_key_id: null, team_id: 0, engine: "docker" as const };
    const validated = { ...own, settings: { is_build_server: false } };
    const { warnings } = clusterFindings(validated, WORKER, { ...NOTHING, managers: [{ ...HEAD, team_id: 0 }] });
    expect(warnings).toEqual([expect.stringMatching(/^Berth runs on this machine, so it gets no containers/)]);
  });
});

describe("a server of another team that says it drives the same cluster", () => {
  const claimed: ClusterRecords = { isInUse: true, managers: [HEAD_OF_OTHERS] };
  const known = { swarm_cluster_id: "c1", swarm_node_id: "n1" };
  const after = (recorded: Partial<typeof REMOTE | typeof known>, records = claimed, node = MANAGER) =>
    clusterFindings(
      { ...REMOTE, ...recorded, team_id: 1, engine: "swarm", settings: { is_build_server: false } },
      node,
      records,
    );

  test.each([
    ["with resources", claimed, MANAGER],
    ["without resources", { ...claimed, isInUse: false }, MANAGER],
  ])("takes nothing from the one that did before, %s", (_what, records, node) => {
    expect(after(known, records, node)).toEqual({ engine: "swarm", obstacle: null, warnings: [], node });
  });

  test("is not named where the cluster has no leader", () => {
    expect(after(known, claimed, LEADERLESS).obstacle).toMatch(/has no leader/);
  });

  test.each([
    ["in another cluster", { ...known, swarm_cluster_id: "c2" }],
    ["another node of it", { ...known, swarm_node_id: "n9" }],
    ["in none", {}],
  ])("keeps one out that was %s, and its cluster is not recorded", (_what, recorded) => {
    const { obstacle, node } = after(recorded);
    expect(obstacle).toMatch(/used through another server too/);
    expect(node).toEqual({ ...MANAGER, clusterId: null });
  });
});

test("two servers cannot be the same node", () => {
  const [one, two] = [
    { id: 1, name: "web-1", swarm_node_id: "n1" },
    { id: 2, name: "web-2", swarm_node_id: "n2" },
  ];
  expect(sameNodeProblem(one, "n1", [one, two])).toBeNull();
  expect(sameNodeProblem(one, "n2", [one, two])).toMatch(/^Servers web-1 and web-2 report the same node/);
});

test.each([
  [null, 3, null],
  [null, 2, NONE_TOLERATED("2 managers")],
  ["Its disk is slow.", 1, `Its disk is slow. ${NONE_TOLERATED("1 manager")}`],
  [NONE_TOLERATED("1 manager"), 3, null],
  [NONE_TOLERATED("1 manager"), 2, NONE_TOLERATED("2 managers")],
  [`Its disk is slow. ${NONE_TOLERATED("1 manager")} Its clock is wrong.`, 3, "Its disk is slow. Its clock is wrong."],
])("what was said as %j is said of %i managers as %j", (said, managers, now) => {
  expect(withTolerance(said, managers)).toBe(now);
});
