export { detectPlan, findPlan, nodeBins } from "./detect.ts";
export { LOCKFILES, type SourceListing, sourceFacts, workspaceFacts } from "./facts.ts";
export { TEXT_BYTES_MAX } from "./language.ts";
export { FILE_DEPTH, isRead } from "./languages.ts";
export { listNames } from "./listing.ts";
export { type PackageJson, parsePackageJson } from "./package-json.ts";
export type {
  BuildPlan,
  BuildStep,
  EarlyInstall,
  Language,
  PlanConfig,
  PlannedRun,
  PlannedRuntime,
  SourceFacts,
  WorkspaceFacts,
} from "./plan.ts";
export { PROGRAMS } from "./programs.ts";
export { unrecognised } from "./unrecognised.ts";
