import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const CPU_SETUP = fileURLToPath(new URL("./cpu-setup.ts", import.meta.url));
const PROGRAMS_SETUP = fileURLToPath(new URL("./programs-setup.ts", import.meta.url));
const DATABASE_SETUP = fileURLToPath(new URL("../../packages/testing/src/database-setup.ts", import.meta.url));

/** Suites wait more than they compute. How many of them have containers at once: `testing/src/docker-slot.ts`. */
const WORKERS = Math.max(4, 2 * availableParallelism());

interface ProjectOptions {
  readonly include?: string[];
  readonly usesDatabase?: boolean;
  readonly usesPrograms?: boolean;
}

/**
 * The configuration of every package's tests. `isolate` and `maxWorkers` must stand in each project's own config: the
 * root's values are not inherited. Tests then keep no state in module scope.
 *
 * With `usesDatabase`, `testDatabase()` of `@berth/testing` works: one PostgreSQL for the whole run is started before
 * the first such project and stopped after the last. With `usesPrograms`, the built server and command line are up to
 * date.
 */
export function project(name: string, options: ProjectOptions = {}) {
  return defineConfig({
    test: {
      name,
      isolate: false,
      maxWorkers: WORKERS,
      include: options.include ?? ["src/**/*.test.ts"],
      testTimeout: 30_000,
      hookTimeout: 60_000,
      setupFiles: [CPU_SETUP],
      globalSetup: [
        ...(options.usesPrograms === true ? [PROGRAMS_SETUP] : []),
        ...(options.usesDatabase === true ? [DATABASE_SETUP] : []),
      ],
    },
  });
}
