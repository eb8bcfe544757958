import { DomainError } from "@berth/core";
import { expect, test } from "vitest";
import { fullDiskMessage } from "./disk-full.ts";

const disk = async () => ({ folder: "/data/apps", totalBytes: 1e9, freeBytes: 3_400_000 });
const errno = (code: string, path?: string) => Object.assign(new Error(`${code}: write`), { code, path });

test.each([
  ["the folder that was written to", errno("ENOSPC", "/data/apps/x/node_modules"), "/data/apps/x/node_modules"],
  ["the cause of another error", new Error("failed", { cause: errno("EDQUOT") }), "/data/apps"],
])("names the folder and what is free: %s", async (_where, cause, folder) => {
  expect(await fullDiskMessage(cause, "checkout", disk)).toBe(
    `The disk of ${folder} is full (3 MB free): the step checkout could not write. Free space on it, then deploy again.`,
  );
});

test("keeps what a program said of it", async () => {
  const cause = new DomainError("deploy.build_failed", "npm ci failed. No space left on device.");
  expect(await fullDiskMessage(cause, "build", disk)).toMatch(
    /^npm ci failed\. No space left on device\. The disk of \/data\/apps is full \(3 MB free\)/,
  );
});

test("says less where the server does not answer, and nothing of other failures", async () => {
  const away = () => Promise.reject(new Error("away"));
  expect(await fullDiskMessage(errno("ENOSPC"), "build", away)).toBe(
    "The server's disk is full: the step build could not write. Free space on it, then deploy again.",
  );
  expect(await fullDiskMessage(new Error("No such file"), "build", disk)).toBeUndefined();
  expect(await fullDiskMessage(undefined, "build", disk)).toBeUndefined();
});
