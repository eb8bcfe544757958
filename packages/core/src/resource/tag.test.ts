import { describe, expect, test } from "vitest";
import { TagAttach, tagNames } from "./tag.ts";

const read = (sent: object) => tagNames(TagAttach.parse(sent));

describe("tags that are sent", () => {
  test("are tidied: lower case, no HTML, each once", () => {
    expect(read({ tag_name: " <b>Blue</b> " })).toEqual(["blue"]);
    expect(read({ tag_names: ["Web", "web", "Größe"] })).toEqual(["web", "größe"]);
  });

  test.each([
    {},
    { tag_name: "blue", tag_names: ["web"] },
    { tag_names: [] },
    { tag_name: "x" },
    { tag_name: "<br>" },
    { tag_name: "a,b" },
    { tag_name: "x".repeat(256) },
    { tag_names: ["ok", 7] },
    { tag_names: Array.from({ length: 101 }, (_, n) => `tag ${n}`) },
    { tag_name: "blue", name: "blue" },
  ])("are refused: %j", (sent) => {
    expect(TagAttach.safeParse(sent).success).toBe(false);
  });
});
