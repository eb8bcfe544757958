export * from "./cron.ts";
export * from "./metric.ts";
export * from "./schedule.ts";
export * from "./scheduled-task.ts";
