export * from "./backup.ts";
export * from "./backup-retention.ts";
export * from "./backup-status.ts";
export * from "./backup-view.ts";
export * from "./restore.ts";
export * from "./s3-storage.ts";
export * from "./s3-storage-probe.ts";
