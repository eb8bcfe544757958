import type { ContainerState, Health } from "../deploy/container-state.ts";
import { aggregateStatus } from "../deploy/status.ts";
import type { ApplicationDestinationRecord } from "../ports/application-destination.ts";
import type { Placement, ResourceRecord } from "../ports/records.ts";

/** The part of an application's record that differs between its servers. */
type OnServer = Pick<ResourceRecord, "server_id" | "destination_id" | "status" | "status_problem" | "desired_state"> & {
  readonly placement?: Placement;
  readonly restart_count?: number;
  readonly scale_problem?: string | null;
};

/** Why an application is stopped on one of its servers alone. */
export const GIVEN_UP_HERE = "It restarted too often on this server and was stopped there. Deploy it again.";

/**
 * The record of an application as one of its servers deploys and runs it: whatever reads the record, and names the
 * server by it, then works for that server.
 */
export function onServer<Record extends OnServer>(record: Record, here: ApplicationDestinationRecord): Record {
  const { server_id, destination_id, status, status_problem, restart_count, is_given_up, scale_problem, ...placement } =
    here;
  return {
    ...record,
    server_id,
    destination_id,
    status,
    status_problem,
    desired_state: is_given_up ? "stopped" : record.desired_state,
    ...(is_given_up ? { stop_reason: GIVEN_UP_HERE } : {}),
    ...(record.placement === undefined ? {} : { placement: { ...record.placement, ...placement } }),
    ...(record.restart_count === undefined ? {} : { restart_count }),
    ...(record.scale_problem === undefined ? {} : { scale_problem }),
  };
}

/** The status of an application on several servers, from its status on each: `degraded` unless all of them agree. */
export function combinedStatus(statuses: readonly string[]): string {
  const [first, ...others] = statuses;
  if (first !== undefined && others.every((status) => status === first)) return first;
  return aggregateStatus(
    statuses.map((status) => {
      const [state, health = "unknown"] = status.split(":");
      // Both are words of `aggregateStatus`, which wrote them.
      return { state: state as ContainerState | "degraded", health: health as Health, restartCount: 0 };
    }),
  );
}
