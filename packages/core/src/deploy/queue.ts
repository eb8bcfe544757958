import { DomainError } from "../errors.ts";

/** Counts the waiting deployments of the server, of all teams; not those in progress. */
export const isQueueFull = (queued: number, limit: number): boolean => queued >= limit;

/** Suggested delay before the next try. Deployments take minutes, so asking more often is useless. */
const RETRY_AFTER_SECONDS = 60;

export const queueFull = () =>
  new DomainError("queue.full", "Deployment queue is full. Please wait for existing deployments to complete.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
