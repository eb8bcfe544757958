import type { ServiceChanges } from "@berth/core/service";
import pico from "picocolors";
import { describe, expect, test } from "vitest";
import { showChanges } from "./services.ts";

const NONE: ServiceChanges = {
  ...{ containers: [], variables: [], storages: [], urls: [] },
  replacement: { mode: "stop_first", reason: "The old containers stop first.", containers: [] },
  needs_deployment: false,
  warnings: [],
};

function shown(changes: ServiceChanges | undefined): string {
  const lines: string[] = [];
  showChanges({ line: (text) => void lines.push(text), colors: pico.createColors(false) }, "shop", changes);
  return lines.join("\n");
}

describe("what a compose file would change", () => {
  test("is named line by line, with how what runs is replaced", () => {
    const changes: ServiceChanges = {
      containers: [
        { name: "web", change: "changed", fields: ["environment", "image"] },
        { name: "cache", change: "removed", fields: [] },
      ],
      variables: [{ key: "MODE", change: "added" }],
      storages: [{ container: "web", mount_path: "/data", change: "added" }],
      urls: [{ container: "web", before: [], after: ["https://shop.example"] }],
      replacement: NONE.replacement,
      needs_deployment: true,
      warnings: ["The volume data stays."],
    };
    expect(shown(changes)).toMatchInlineSnapshot(`
      "~ container web: environment, image
      - container cache
      + variable MODE
      + storage /data of web
      ~ URL of web: none -> https://shop.example
      With the next deployment: The old containers stop first.
      The volume data stays."
    `);
  });

  test("says of each container that stays how it is replaced, and why", () => {
    const actions = [
      ["web", "candidate_first", "The new container starts beside the old one."],
      ["store", "stop_first", "The old one stops before the new one starts, since it is a database."],
      ["mail", "kept", "Neither its definition nor its input has changed."],
      ["jobs", "added", "It is a new container."],
      ["old", "removed", "Removed from the compose file."],
    ] as const;
    const containers = actions.map(([name, action, reason]) => ({ name, action, reason }));
    const replacement = { ...NONE.replacement, containers };
    const variables = [{ key: "MODE", change: "added" as const }];
    expect(shown({ ...NONE, variables, replacement, needs_deployment: true })).toMatchInlineSnapshot(`
      "+ variable MODE
      With the next deployment:
        web    new one first  The new container starts beside the old one.
        store  stops first    The old one stops before the new one starts, since it is a database.
        mail   kept           Neither its definition nor its input has changed."
    `);
  });

  test("is nothing, or holds at once, where that is so", () => {
    expect(shown(NONE)).toBe("Nothing changes: shop is as the file says.");
    const urls = [{ container: "web", before: ["http://a.example"], after: [] }];
    expect(shown({ ...NONE, urls })).toContain("It takes effect at once: nothing is restarted.");
  });

  test("cannot move the cursor", () => {
    expect(shown({ ...NONE, variables: [{ key: "A\u001b[2J", change: "added" }] })).toContain("+ variable A\n");
  });
});
