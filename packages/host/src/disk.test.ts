import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { diskSpace } from "./disk.ts";

test("tells how much of a disk is free, and nothing of a folder that is not there", async () => {
  const space = await diskSpace(tmpdir());
  expect(space?.totalBytes).toBeGreaterThan(0);
  expect(space?.freeBytes).toBeLessThanOrEqual(space?.totalBytes ?? 0);
  expect(await diskSpace("/no/such/folder")).toBeUndefined();
});
