import { readFile } from "node:fs/promises";
import { ERRORS } from "@berth/core";
import { expect, test } from "vitest";
import { statusOf } from "./errors.ts";

test("docs/errors.md has every code with its status, and no other", async () => {
  const page = await readFile(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z_.]+)` \| (\d{3}) \| \S.*\|$/gm)].map(([, code, status]) => [code, status]);
  expect(rows).toEqual(Object.entries(ERRORS).map(([code, category]) => [code, String(statusOf(category))]));
});
