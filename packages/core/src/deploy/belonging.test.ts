import { describe, expect, test } from "vitest";
import type { ServerObject } from "../compose/external-references.ts";
import { isForeign, namedBy, type ObjectOwner, uuidIn } from "./belonging.ts";
import type { ReleaseSpec } from "./release.ts";

const UUID = "a1b2c3d4e5f6g7h8i9j0k1l2";
const OTHER = "z1b2c3d4e5f6g7h8i9j0k1l2";

const SPEC: ReleaseSpec = {
  ...{ resourceUuid: UUID, deploymentUuid: OTHER, resourceNumber: 1, kind: "service", name: "shop" },
  ...{ env: {}, ports: [], storages: [], limits: { memoryBytes: null, cpus: null } },
  artifact: { type: "image", image: "x" },
};

describe("what a release names", () => {
  const ours = (resourceUuid: string | null): ObjectOwner => ({ isOurs: true, resourceUuid });
  const theirs = (resourceUuid: string | null): ObjectOwner => ({ isOurs: false, resourceUuid });
  const own = { resources: new Set(["mine"]), networks: new Set(["berth"]) };

  test.each<[string, ServerObject["type"], string, ObjectOwner, boolean]>([
    ["what is not there", "network", "x", undefined, false],
    ["a network of the team's", "network", "x", ours("mine"), false],
    ["a network of another team's", "network", "x", ours("other"), true],
    ["the network of a destination", "network", "berth", ours(null), false],
    ["the network of another's destination", "network", "x", ours(null), true],
    ["a destination that another control plane has too", "network", "berth", theirs(null), false],
    ["the destination of another control plane", "network", "x", theirs(null), true],
    ["a volume without a name, by its id", "volume", "0123456789abcdef".repeat(4), undefined, true],
    ["a network by its id", "network", "0123456789abcdef".repeat(4), undefined, true],
    ["a network of a resource of another control plane", "network", "x", theirs("mine"), true],
    ["a volume of the team's", "volume", "x", ours("mine"), false],
    ["a volume of another team's", "volume", "x", ours("other"), true],
    ["a volume of another control plane", "volume", "x", theirs(null), true],
    ["a container of the team's", "container", "x", ours("mine"), false],
    ["a container of another team's", "container", "x", ours("other"), true],
    ["the container of a proxy", "container", "x", ours(null), true],
  ])("%s", (_what, type, name, owner, expected) => {
    expect(isForeign({ type, name }, owner, own)).toBe(expected);
  });

  test("is read with its variables replaced, beside the networks of its destination", () => {
    const compose = JSON.stringify({
      services: { web: { image: "x", pid: "container:$PID" } },
      networks: { up: { external: true, name: `\${NET:-fallback}` } },
    });
    const artifact = { type: "stack", compose, images: {}, files: [] } as const;
    const stack = { variables: { PID: "other" }, containers: {}, networks: ["berth"] };
    expect(namedBy({ ...SPEC, artifact, stack }).map(({ type, name }) => `${type} ${name}`)).toEqual([
      ...["network berth", "container other", "network fallback"],
    ]);
    expect(namedBy({ ...SPEC, network: "berth" })).toEqual([{ type: "network", name: "berth" }]);
    expect(namedBy(SPEC)).toEqual([]);
  });
});

describe("a name is told to be a resource's", () => {
  test.each([
    [UUID, UUID],
    [`${UUID}_back`, UUID],
    [`${UUID}-pr-7_back`, UUID],
    [`berth-${UUID}_data`, UUID],
    [`${UUID}-${OTHER}`, UUID],
    [`web-${UUID}-${OTHER}`, UUID],
    [`web-${UUID}-${OTHER}.${OTHER}`, UUID],
    // A volume of a storage, whose labels name the owner.
    [`berth-${UUID}`, undefined],
    ["productionnetworkshareda", undefined],
    ["$" + "{NET}", undefined],
    ["berth", undefined],
    ["my-net", undefined],
  ])("%s", (name, uuid) => {
    expect(uuidIn(name)).toBe(uuid);
  });
});
