import type { Plugin } from "vitest/config";
import { lateReason } from "../../packages/testing/src/late.ts";

/** Whether a file of tests starts whole servers. */
export const hasWholeServers = (path: string): boolean => /\/e2e\/[^/]+\.test\.ts$/.test(path);

/** Whether a file tries a large matrix. Such files run last, and have a later limit of their own. */
export const isLarge = (source: string): boolean => /\bdescribe(Large|Pages)/.test(source);

/**
 * Replaces each file of tests with whole servers that a slow run would begin late (`testing/src/late.ts`), together with
 * what it sets up, by a skipped test. The end of the run names the file.
 */
export function lateSuites(): Plugin {
  const reasonOf = (id: string, source: string) =>
    hasWholeServers(id) && !isLarge(source) ? lateReason("BERTH_TEST_SLOW_AT") : undefined;
  return {
    name: "late-suites",
    enforce: "pre",
    // Else a later run would get the replacement from the cache.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ id, sourceCode }) => reasonOf(id, sourceCode) && "late"),
    transform(source, id) {
      const reason = reasonOf(id, source);
      if (reason === undefined) return undefined;
      const meta = JSON.stringify({ skipReason: reason });
      const code = `import { describe, test } from "vitest";
        describe.skip("its tests", { meta: ${meta} }, () => { test("are left out", () => undefined); });`;
      return { code, map: null };
    },
  };
}
