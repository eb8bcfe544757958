export * from "./environment.ts";
export * from "./event.ts";
export * from "./member.ts";
export * from "./permission.ts";
export * from "./project.ts";
export * from "./team.ts";
export * from "./token.ts";
