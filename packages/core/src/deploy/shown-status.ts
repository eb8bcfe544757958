import { REMOVING_STATUS } from "./status.ts";

/** Applications and databases always name a health: `exited` is shown as `exited:unhealthy`. */
export const withHealth = (status: string): string => (status.includes(":") ? status : `${status}:unhealthy`);

export const isRunning = (status: string): boolean => status.includes("running");

export const isStopped = (status: string): boolean => /exited|stopped/.test(status);

/** The shown status: a removal in progress hides the last observation. */
export const shownStatus = (resource: { readonly status: string; readonly removing_at: Date | null }): string =>
  resource.removing_at === null ? withHealth(resource.status) : REMOVING_STATUS;

/** Services name no health while they are down: `exited`. */
export const shownServiceStatus = (resource: { readonly status: string; readonly removing_at: Date | null }): string =>
  resource.removing_at === null ? resource.status.replace(/^exited:unhealthy$/, "exited") : REMOVING_STATUS;
