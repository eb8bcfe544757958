import type { Placement } from "./records.ts";

/**
 * One destination of an application that is deployed to several servers. The primary one, which is recorded with the
 * resource, is among them. An application on one server has none of these records.
 */
export interface ApplicationDestinationRecord extends ServerPlacement {
  readonly server_id: number;
  readonly destination_id: number;
  /** `state:health` as last observed on this server. The resource has the combined one. */
  readonly status: string;
  /** Why it cannot run on this server, and what to do, as last observed. */
  readonly status_problem: string | null;
  readonly restart_count: number;
  /** It restarted too often on this server, and is stopped there until somebody starts or deploys it. */
  readonly is_given_up: boolean;
  /** Why it lacks containers on this server, since the last attempt to scale it failed. */
  readonly scale_problem: string | null;
}

/** The names of a server and of one of its destinations. */
export type ServerPlacement = Omit<
  Placement,
  "project_uuid" | "project_name" | "environment_uuid" | "environment_name"
>;

export interface ApplicationDestinationStore {
  /** The primary one first, then in the order in which they were attached. Empty for an application on one server. */
  list(resourceId: number): Promise<readonly ApplicationDestinationRecord[]>;
  /**
   * Attaches a destination on another server. The first time, the primary one is recorded too.
   * @returns `false` if the application has that server already.
   * @throws DomainError `resource.not_found` if application or destination belongs to another team, or the server is
   * being removed
   */
  attach(resourceId: number, destinationId: number): Promise<boolean>;
  /** Detaches a destination that is not the primary one. Returns whether it was attached. */
  detach(resourceId: number, destinationId: number): Promise<boolean>;
  /** Detaches a server that is being removed from all applications of which it is not the primary one. */
  detachServer(serverId: number): Promise<void>;
}
