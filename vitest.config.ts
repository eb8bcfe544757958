import { defineConfig } from "vitest/config";
import { SlowFirst } from "./tooling/vitest/slow-first.ts";

export default defineConfig({
  test: {
    projects: ["packages/*", "apps/*", "tooling/description"],
    passWithNoTests: true,
    reporters: ["default", "./tooling/vitest/skipped-reporter.ts"],
    sequence: { sequencer: SlowFirst },
  },
});
