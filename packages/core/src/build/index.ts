export { detectPlan, nodeBins } from "./detect.ts";
export { listNames } from "./listing.ts";
export { type PackageJson, parsePackageJson } from "./package-json.ts";
export type { BuildPlan, BuildStep, PlannedRun, SourceFacts, WorkspaceFacts } from "./plan.ts";
