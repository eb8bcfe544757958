import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { SlowFirst } from "./tooling/vitest/slow-first.ts";

export default defineConfig({
  test: {
    projects: ["packages/*", "apps/*", "tooling/description"],
    passWithNoTests: true,
    reporters: ["default", "./tooling/vitest/skipped-reporter.ts"],
    // Suites wait more than they compute. How many of them have containers at once: `testing/src/docker-slot.ts`.
    maxWorkers: Math.max(4, 2 * availableParallelism()),
    sequence: { sequencer: SlowFirst },
  },
});
