export * from "./storage.ts";
export * from "./storage-input.ts";
export * from "./storage-view.ts";
