import type { Plugin } from "vitest/config";
import { lateReason } from "../../packages/testing/src/late.ts";

/** Whether a file of tests starts whole servers. */
export const hasWholeServers = (path: string): boolean => /\/e2e\/[^/]+\.test\.ts$/.test(path);

/**
 * Replaces each file of tests with whole servers that a late run would begin (`testing/src/late.ts`), together with
 * what it sets up, by a skipped test. The end of the run names the file.
 */
export function lateSuites(): Plugin {
  const reasonOf = (id: string) => (hasWholeServers(id) ? lateReason() : undefined);
  return {
    name: "late-suites",
    enforce: "pre",
    // Else a later run would get the replacement from the cache.
    configureVitest: ({ defineCacheKeyGenerator }) => defineCacheKeyGenerator(({ id }) => reasonOf(id) && "late"),
    transform(_code, id) {
      const reason = reasonOf(id);
      if (reason === undefined) return undefined;
      const meta = JSON.stringify({ skipReason: reason });
      const code = `import { describe, test } from "vitest";
        describe.skip("its tests", { meta: ${meta} }, () => { test("are left out", () => undefined); });`;
      return { code, map: null };
    },
  };
}
