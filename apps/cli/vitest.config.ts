import { project } from "../../tooling/vitest/project.ts";

export default project("cli", { include: ["src/**/*.test.ts", "e2e/**/*.test.ts"], usesPrograms: true });
