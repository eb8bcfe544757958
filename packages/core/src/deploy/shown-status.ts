import { REMOVING_STATUS } from "./status.ts";

/** Applications and databases always show a health: `exited` becomes `exited:unhealthy`. */
export const withHealth = (status: string): string => (status.includes(":") ? status : `${status}:unhealthy`);

export const isRunning = (status: string): boolean => status.includes("running");

export const isStopped = (status: string): boolean => /exited|stopped/.test(status);

/** During a removal, `removing` is shown instead of the last observation. */
export const shownStatus = (resource: { readonly status: string; readonly removing_at: Date | null }): string =>
  resource.removing_at === null ? withHealth(resource.status) : REMOVING_STATUS;

/** Services show no health while they are down: `exited`. */
export const shownServiceStatus = (resource: { readonly status: string; readonly removing_at: Date | null }): string =>
  resource.removing_at === null ? resource.status.replace(/^exited:unhealthy$/, "exited") : REMOVING_STATUS;

/** Description of the field `status_problem` of resources of all kinds. */
export const STATUS_PROBLEM = "Why it cannot run, or was stopped by Berth, and what to do, if Berth knows that.";
