export * from "./attachment.ts";
export * from "./database.ts";
export * from "./database-address.ts";
export * from "./database-certificate.ts";
export * from "./database-change.ts";
export * from "./database-engine.ts";
export * from "./database-input.ts";
export * from "./database-view.ts";
export type * from "./engine/row.ts";
