import { describe, expect, test } from "vitest";
import { namesake, type PlacedName } from "./application-name.ts";

describe("an application with a taken name", () => {
  const shop = { name: "shop", project_uuid: "p1", environment_name: "production" };

  test.each<[string, PlacedName, boolean]>([
    ["the same name in the same environment", shop, true],
    ["with spaces around it", { ...shop, name: " shop " }, true],
    ["another name", { ...shop, name: "shop-2" }, false],
    ["another environment of the project", { ...shop, environment_name: "staging" }, false],
    ["an environment of the same name in another project", { ...shop, project_uuid: "p2" }, false],
  ])("%s", (_title, wanted, isTaken) => {
    expect(namesake([{ ...shop, name: "blog" }, shop], wanted)).toBe(isTaken ? shop : undefined);
  });
});
