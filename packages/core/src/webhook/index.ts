export * from "./answer.ts";
export * from "./decision.ts";
export * from "./delivery.ts";
export * from "./intent.ts";
export * from "./provider.ts";
export * from "./watch-paths.ts";
