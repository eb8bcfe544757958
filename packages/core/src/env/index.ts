export * from "./env.ts";
export * from "./env-file.ts";
export * from "./env-size.ts";
export * from "./env-value.ts";
export * from "./secret-value.ts";
export * from "./shared-variable.ts";
