import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { lateSuites } from "./late-suites.ts";

const CPU_SETUP = fileURLToPath(new URL("./cpu-setup.ts", import.meta.url));
const PROGRAMS_SETUP = fileURLToPath(new URL("./programs-setup.ts", import.meta.url));
const DATABASE_SETUP = fileURLToPath(new URL("../../packages/testing/src/database-setup.ts", import.meta.url));
const SERVER_DATA_SETUP = fileURLToPath(new URL("../../packages/testing/src/server-data-setup.ts", import.meta.url));

/** Suites wait more than they compute. `testing/src/docker-slot.ts` limits those with containers. */
const WORKERS = Math.max(4, 2 * availableParallelism());

interface ProjectOptions {
  readonly include?: string[];
  readonly usesDatabase?: boolean;
  readonly usesPrograms?: boolean;
}

/**
 * Configuration for the tests of every package. `isolate` and `maxWorkers` must be set in each project: vitest does
 * not inherit the root's values. Without isolation, tests must not keep state in module scope.
 *
 * `usesDatabase` makes `testDatabase()` of `@berth/testing` available: one PostgreSQL runs from the first such project
 * to the last. `usesPrograms` builds server and command line before the tests, and creates the
 * database that started servers copy.
 */
export function project(name: string, options: ProjectOptions = {}) {
  return defineConfig({
    plugins: [lateSuites()],
    test: {
      name,
      isolate: false,
      maxWorkers: WORKERS,
      include: options.include ?? ["src/**/*.test.ts"],
      // Bounds for tests that hang. What computes for seconds takes minutes on a slow and busy machine.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 240_000 } },
      setupFiles: [CPU_SETUP],
      globalSetup: [
        ...(options.usesPrograms === true ? [PROGRAMS_SETUP, SERVER_DATA_SETUP] : []),
        ...(options.usesDatabase === true ? [DATABASE_SETUP] : []),
      ],
    },
  });
}
