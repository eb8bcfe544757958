export * from "./git-source.ts";
export * from "./github-app.ts";
export * from "./hosted-repository.ts";
export * from "./private-key.ts";
export * from "./upload.ts";
