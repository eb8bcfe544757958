import { DomainError } from "../errors.ts";

/** Deployments in progress do not count: only the waiting ones of the server, of all teams. */
export const isQueueFull = (queued: number, limit: number): boolean => queued >= limit;

/** When a caller may try again. Deployments take minutes, so asking more often only costs both sides. */
const RETRY_AFTER_SECONDS = 60;

export const queueFull = () =>
  new DomainError("queue.full", "Deployment queue is full. Please wait for existing deployments to complete.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
