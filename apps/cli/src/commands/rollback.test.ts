import type { RollbackImage } from "@berth/core/deploy";
import { describe, expect, test } from "vitest";
import { chosenImage } from "./rollback.ts";

const image = (tag: string, minute: number, is_current = false): RollbackImage => ({
  tag,
  created_at: `2026-01-01T00:0${minute}:00.000000Z`,
  is_current,
  deployment_uuid: `d-${tag}`,
  commit_message: null,
  image: null,
});
const IMAGES = [image("bbb222", 2, true), image("ccc333", 3), image("bbb111", 1), image("aaa000", 0)];

describe("a rollback", () => {
  test("takes the newest that is older than what runs", () => {
    expect(chosenImage(IMAGES, undefined, "app").tag).toBe("bbb111");
  });

  test.each([
    ["ccc", "ccc333"],
    ["d-aaa000", "aaa000"],
  ])("to %s takes %s", (wanted, tag) => {
    expect(chosenImage(IMAGES, wanted, "app").tag).toBe(tag);
  });

  test("takes an older build of the same commit too", () => {
    const builds = [image("aaa", 2, true), { ...image("aaa", 1), deployment_uuid: "older" }];
    expect(chosenImage(builds, undefined, "app").deployment_uuid).toBe("older");
    expect(chosenImage(builds, "older", "app").deployment_uuid).toBe("older");
  });

  test.each([
    ["bbb", "2 kept builds begin with bbb. Name one by its deployment."],
    ["x", "No kept release is named x."],
  ])("to %s says what is wrong", (wanted, message) => {
    expect(() => chosenImage(IMAGES, wanted, "app")).toThrow(message);
  });

  test("names the application in its hint as a command does", () => {
    expect(() => chosenImage(IMAGES, "x", "shop")).toThrow(
      expect.objectContaining({ details: ["Kept builds: berth rollback shop --list"] }),
    );
  });

  test("says that nothing older is kept", () => {
    expect(() => chosenImage([image("a", 1, true), image("b", 2)], undefined, "app")).toThrow("No build older than");
    expect(() => chosenImage([], undefined, "app")).toThrow("No build older than");
  });
});
