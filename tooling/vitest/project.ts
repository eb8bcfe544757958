import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const DATABASE_SETUP = fileURLToPath(new URL("../../packages/testing/src/database-setup.ts", import.meta.url));

/**
 * The configuration of every package's tests. `isolate: false` must stand in each project's own config: the root's
 * value is not inherited. Tests then keep no state in module scope.
 *
 * With `usesDatabase`, `testDatabase()` of `@berth/testing` works: one PostgreSQL for the whole run is started before
 * the first such project and stopped after the last.
 */
export function project(name: string, options: { readonly include?: string[]; readonly usesDatabase?: boolean } = {}) {
  return defineConfig({
    test: {
      name,
      isolate: false,
      include: options.include ?? ["src/**/*.test.ts"],
      testTimeout: 30_000,
      hookTimeout: 60_000,
      globalSetup: options.usesDatabase === true ? [DATABASE_SETUP] : [],
    },
  });
}
