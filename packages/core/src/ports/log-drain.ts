import type { ResourceKind } from "../resource/resource.ts";
import type { LogDrain, LogDrainSecrets } from "../server/log-drain.ts";
import type { DrainedLine, DrainedSource } from "../server/log-drain-request.ts";

/** Secrets of the log drains of the team's servers. */
export interface LogDrainStore {
  /** `undefined`: none are stored. */
  secrets(serverId: number): Promise<LogDrainSecrets | undefined>;
  save(serverId: number, secrets: LogDrainSecrets): Promise<void>;
  /** Forgets what was delivered of the server's resources, and its problem. Lines printed before are not delivered later. */
  restart(serverId: number): Promise<void>;
}

/** A release whose lines are delivered. */
export interface DrainedRelease extends Omit<DrainedSource, "server_name"> {
  readonly deployment_id: number;
  readonly resource_id: number;
  readonly resource_kind: ResourceKind;
  readonly created_at: Date;
  /** Lines printed before are not delivered. */
  readonly since: Date;
  /** Position behind the last line that was delivered; `null`: none was. */
  readonly cursor: string | null;
}

export interface Drained {
  readonly resourceIds: ReadonlySet<number>;
  readonly releases: readonly DrainedRelease[];
}

export interface DeliveredPosition {
  readonly deployment_id: number;
  /** As the release was listed with. A position from before its resource was turned off and on is not saved. */
  readonly since: Date;
  readonly cursor: string;
}

export interface SystemLogDrainStore {
  secrets(serverId: number): Promise<LogDrainSecrets | undefined>;
  /**
   * The resources of a server whose lines are to be delivered, and their releases that have a log. Records since when
   * that is so, and forgets resources of which it no longer is.
   */
  drained(serverId: number): Promise<Drained>;
  /**
   * Of a release that was removed meanwhile, nothing is saved. Fenced: nothing at all without this lease, since the
   * control plane that has it now may have delivered more.
   */
  savePositions(
    lease: { readonly name: string; readonly owner: string },
    positions: readonly DeliveredPosition[],
  ): Promise<void>;
  /** `null`: lines are delivered. */
  recordProblem(serverId: number, problem: string | null): Promise<void>;
}

/** What became of a batch. `problem` holds no secret. */
export type DrainResult =
  /** @param refused Number of its lines that the receiver did not accept, and never would. */
  | { readonly isDelivered: true; readonly refused: number; readonly problem?: string | undefined }
  | {
      readonly isDelivered: false;
      readonly problem: string;
      /** The same for the same kind of failure, whatever the problem's words are. */
      readonly kind: string;
      /** `content`: another batch may be accepted. `size`: a smaller one may be. */
      readonly cause: "receiver" | "content" | "size";
      readonly retryAfterSeconds?: number | undefined;
    };

/** Sends one batch to a log drain. Never rejects. */
export type LogDrainSender = (drain: LogDrain, lines: readonly DrainedLine[]) => Promise<DrainResult>;
