/** The states of RULES 6. */
export type ContainerState =
  | "created"
  | "starting"
  | "running"
  | "restarting"
  | "exited"
  | "paused"
  | "dead"
  | "removing";

/** Result of probes. `unknown`: not probed yet, or there is nothing to probe. */
export type Health = "healthy" | "unhealthy" | "unknown";
