import { project } from "../../tooling/vitest/project.ts";

export default project("web", {
  include: ["src/**/*.test.ts", "e2e/**/*.test.ts"],
  usesDatabase: true,
  usesPrograms: true,
});
