import { project } from "../../tooling/vitest/project.ts";

export default project("server", {
  usesDatabase: true,
  usesPrograms: true,
  include: ["src/**/*.test.ts", "e2e/**/*.test.ts"],
});
