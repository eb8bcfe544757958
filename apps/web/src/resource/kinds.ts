import type { ResourceKind } from "@berth/core/resource";

/** Kind of a type in lists: `application`, `service`, or `standalone-` with a database engine. */
export const kindOf = (type: string): ResourceKind =>
  type === "application" || type === "service" ? type : "database";

export const plurals = {
  application: "applications",
  database: "databases",
  service: "services",
} as const satisfies Record<ResourceKind, string>;

export const kindOfPath = (path: string): ResourceKind =>
  path.startsWith("/databases/") ? "database" : path.startsWith("/services/") ? "service" : "application";

export const engineOf = (type: string): string => type.replace(/^standalone-/, "");
