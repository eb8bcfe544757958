export { planServerCleanup } from "./cleanup.ts";
export { deploy } from "./deploy/index.ts";
export type { DeployStep } from "./deploy/progress.ts";
export { gitCredentials } from "./git-credentials.ts";
export type { Connect, Logger, WorkerDeps } from "./ports.ts";
export { recordEngine } from "./server-engine.ts";
export { DEFAULT_SETTINGS, type WorkerSettings } from "./settings.ts";
export { type Worker, type WorkerOptions, worker } from "./worker.ts";
