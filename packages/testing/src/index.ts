export { contents } from "./contents.ts";
export * from "./database.ts";
export * from "./git-repository.ts";
export * from "./git-server.ts";
export * from "./github-server.ts";
export * from "./printing-engine.ts";
export * from "./records.ts";
