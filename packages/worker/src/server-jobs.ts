import type { JobLease } from "@berth/core/ports";
import type { JobType } from "@berth/core/server";
import type { WorkerDeps } from "./ports.ts";
import { within } from "./wait.ts";

export interface ServerJob {
  readonly type: JobType;
  /** The servers that it may be about. */
  readonly serverIds: readonly number[];
  readonly leaseSeconds: number;
  /** After this time it is not waited for any more. Default: its lease. */
  readonly secondsMax?: number;
  readonly work: (lease: JobLease, serverId: number) => Promise<void>;
}

/** Does jobs about servers side by side, those of one server one after the other. */
export interface ServerJobs {
  /** Claims what waits and begins it: a server that does not answer holds up no other. */
  claimAll(job: ServerJob): Promise<void>;
  /** Resolves when everything that was begun has ended. */
  ended(): Promise<unknown>;
}

/** @param onEnd Called when a job has ended: another one may have waited for its place. */
export function serverJobs(
  { stores, owner, logger }: Pick<WorkerDeps, "stores" | "owner" | "logger">,
  signal: AbortSignal,
  onEnd: () => void,
): ServerJobs {
  const running = new Map<number, Promise<void>>();

  const begin = async (lease: JobLease, serverId: number, { type, work, leaseSeconds, secondsMax }: ServerJob) => {
    try {
      await within(secondsMax ?? leaseSeconds, work(lease, serverId));
    } catch (error) {
      logger.warn("A job of a server broke off; it is taken up again.", { type, error });
    }
    running.delete(serverId);
    onEnd();
  };

  return {
    async claimAll(job) {
      const { type, serverIds, leaseSeconds } = job;
      if (!(await stores.queues.busy()).has(type)) return;
      while (running.size < AT_ONCE && !signal.aborted) {
        const ids = serverIds.filter((id) => !running.has(id));
        const claimed = ids.length === 0 ? undefined : await stores.jobs.claim(type, ids, { owner, leaseSeconds });
        if (claimed === undefined) return;
        const { subject_id } = claimed.job;
        running.set(subject_id, begin(claimed.lease, subject_id, job));
      }
    },
    ended: () => Promise.all(running.values()),
  };
}

const AT_ONCE = 8;
