export * from "./move.ts";
export * from "./resource.ts";
export * from "./resource-summary.ts";
export * from "./resource-view.ts";
export * from "./running-container.ts";
export * from "./tag.ts";
export * from "./terminal.ts";
