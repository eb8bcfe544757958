import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLEANUP_OBJECT_TYPES, isCleanupNeeded, planCleanup, type SeenObject } from "./cleanup.ts";

const RECORDED = {
  instance: "me",
  resources: new Set(["app"]),
  existing: new Set(["app", "moved"]),
  own: new Set(["app", "moved", "gone"]),
  deployments: new Set(["live", "kept"]),
  networks: new Set(["berth"]),
};
const ALL = { delete_unused_volumes: true, delete_unused_networks: true };
const NONE = { delete_unused_volumes: false, delete_unused_networks: false };
const object = (type: SeenObject["type"], fields: Partial<SeenObject> = {}): SeenObject => ({
  type,
  id: "x",
  name: "x",
  instance: "me",
  resourceUuid: "app",
  deploymentUuid: type === "image" || type === "container" ? "old" : null,
  isInUse: false,
  sizeBytes: 1,
  ...fields,
});
const isPlanned = (seen: SeenObject, settings = ALL) => planCleanup([seen], RECORDED, settings).length === 1;

describe("a cleanup", () => {
  test.each<[string, SeenObject, boolean, boolean]>([
    ["an image of an earlier deployment", object("image"), true, true],
    ["an image without a name", object("image", { name: null }), true, true],
    ["an image that runs or is kept", object("image", { deploymentUuid: "kept" }), false, false],
    ["an image with a container", object("image", { isInUse: true }), false, false],
    ["a pulled image of an application", object("image", { instance: null }), true, true],
    ["a pulled image of a deleted application", object("image", { instance: null, resourceUuid: "gone" }), true, true],
    ["a pulled image of nobody", object("image", { instance: null, resourceUuid: "other" }), false, false],
    ["an image that says it is of nobody's", object("image", { resourceUuid: "other" }), false, false],
    ["another instance's image", object("image", { instance: "you" }), false, false],
    ["an image that no deployment made", object("image", { deploymentUuid: null }), false, false],
    ["a stopped container of a recorded resource", object("container"), false, false],
    ["a stopped container of a deleted resource", object("container", { resourceUuid: "gone" }), true, true],
    ["a stopped container of nobody", object("container", { resourceUuid: "other" }), false, false],
    ["a running container", object("container", { resourceUuid: "gone", isInUse: true }), false, false],
    ["a container without labels", object("container", { resourceUuid: "gone", instance: null }), false, false],
    ["a recorded resource's volume", object("volume"), false, false],
    ["a volume of a resource that is on another server now", object("volume", { resourceUuid: "moved" }), false, false],
    ["a deleted resource's volume", object("volume", { resourceUuid: "gone" }), true, false],
    ["a volume of nobody", object("volume", { resourceUuid: null }), false, false],
    ["a foreign volume", object("volume", { resourceUuid: "gone", instance: null }), false, false],
    ["a deleted resource's network", object("network", { resourceUuid: "gone" }), true, false],
    ["a destination's network", object("network", { resourceUuid: null, name: "berth" }), false, false],
    ["a network that is joined", object("network", { resourceUuid: "gone", isInUse: true }), false, false],
  ])("of %s", (_what, seen, withAll, withNone) => {
    expect([isPlanned(seen, ALL), isPlanned(seen, NONE)]).toEqual([withAll, withNone]);
  });

  test("never takes what is in use, recorded or another's, and takes containers first", () => {
    const text = fc.constantFrom("me", "you", "app", "gone", "live", "kept", "old", "berth", "x");
    const objects = fc.record({
      type: fc.constantFrom(...CLEANUP_OBJECT_TYPES),
      id: fc.uuid(),
      name: fc.option(text),
      instance: fc.option(text),
      resourceUuid: fc.option(text),
      deploymentUuid: fc.option(text),
      isInUse: fc.boolean(),
      sizeBytes: fc.constant(null),
    });
    fc.assert(
      fc.property(fc.array(objects), (seen) => {
        const planned = planCleanup(seen, RECORDED, ALL);
        for (const { id } of planned) {
          const found = seen.find((each) => each.id === id);
          expect(found?.isInUse).toBe(false);
          expect([null, "me"]).toContain(found?.instance);
          if (found?.instance === null) expect(found).toMatchObject({ type: "image" });
          if (found?.type === "image" || found?.type === "container")
            expect(RECORDED.own).toContain(found.resourceUuid);
          if (found?.type === "image") {
            expect(["live", "kept", null]).not.toContain(found.deploymentUuid);
          } else expect(found?.resourceUuid).not.toBe("app");
        }
        const order = planned.map(({ type }) => CLEANUP_OBJECT_TYPES.indexOf(type));
        expect(order).toEqual([...order].sort());
      }),
    );
  });

  test.each([
    [true, 10, undefined, true],
    [true, 10, 50, true],
    [false, 80, 79, false],
    [false, 80, 80, true],
    [false, 80, undefined, false],
  ])(
    "that is due with force %s and threshold %i on a disk that is %s %% full is needed: %s",
    (force, threshold, used, expected) => {
      const settings = { force_docker_cleanup: force, docker_cleanup_threshold: threshold };
      const disk = used === undefined ? undefined : { totalBytes: 100, freeBytes: 100 - used };
      expect(isCleanupNeeded(settings, disk)).toBe(expected);
    },
  );
});
