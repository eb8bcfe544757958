/** Statuses of a server's proxy. Without a container it is `exited`. */
export const PROXY_STATUSES = ["running", "starting", "restarting", "exited"] as const;
export type ProxyStatus = (typeof PROXY_STATUSES)[number];
