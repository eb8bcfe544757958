import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import { statusCodeOf } from "@berth/docker-client";

/**
 * What a node answers. `undefined`: it cannot be reached, or does not answer in time, although the swarm may reach it.
 * One node that hangs must not hold up what is on the others.
 */
export async function answered<T>(asked: Promise<T>): Promise<T | undefined> {
  const late = delay(NODE_ANSWER_MS, undefined, { ref: false });
  return await Promise.race([asked, late]).catch((cause: unknown) => {
    if (cause instanceof Error && statusCodeOf(cause) === undefined && !isDomainError(cause, "engine.failed")) {
      return undefined;
    }
    throw cause;
  });
}

const NODE_ANSWER_MS = 3000;
