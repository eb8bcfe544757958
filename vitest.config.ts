import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: ["packages/*", "apps/*", "tooling/description"],
    passWithNoTests: true,
    reporters: ["default", "./tooling/vitest/skipped-reporter.ts"],
  },
});
