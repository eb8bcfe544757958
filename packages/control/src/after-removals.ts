import { isDomainError } from "@berth/core";
import type { UseCaseContext } from "./context.ts";

/**
 * Repeats a deletion that is refused because something is in use, while all of its users are being removed: whoever
 * was answered that the last of them is deleted does not have to wait and ask again.
 * @param isUsed Whether it has users that stay.
 */
export async function afterRemovals<Result>(
  { wait }: Pick<UseCaseContext, "wait">,
  attempt: () => Promise<Result>,
  isUsed: () => Promise<boolean>,
): Promise<Result> {
  for (let attemptsLeft = ATTEMPTS_MAX; ; attemptsLeft -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isDomainError(error, "resource.in_use", "private_key.in_use")) throw error;
      if (attemptsLeft === 0 || (await isUsed())) throw error;
    }
    await wait(PAUSE_SECONDS);
  }
}

/** Together 15 seconds: a removal takes one, or the time that its application may take to end. */
const ATTEMPTS_MAX = 75;
const PAUSE_SECONDS = 0.2;
