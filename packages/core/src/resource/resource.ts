/** Everything a user can deploy. Adding a kind here adds its routes, CLI verbs and pages. */
export const RESOURCE_KINDS = {
  application: { plural: "applications", article: "an", title: "Application", tag: "Applications" },
  service: { plural: "services", article: "a", title: "Service", tag: "Services" },
  database: { plural: "databases", article: "a", title: "Database", tag: "Databases" },
} as const;

export type ResourceKind = keyof typeof RESOURCE_KINDS;

export interface ResourceRef {
  readonly kind: ResourceKind;
  readonly uuid: string;
}

/** Whether the owner wants it running, also after a restart of the control plane. */
export type DesiredState = "running" | "stopped";
