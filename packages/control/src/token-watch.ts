import type { UseCaseContext } from "./context.ts";

/** A token stops working at once; for what is open, that is this long. */
const CHECK_SECONDS = 5;

/**
 * What `follow` answers until `signal`, or until the token of who follows was revoked or has expired: then the stream
 * ends as if the reader had gone.
 */
export async function* whileTokenWorks<T>(
  { scope: { actor }, stores }: Pick<UseCaseContext, "scope" | "stores">,
  signal: AbortSignal,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void> {
  if (actor.type !== "token") return yield* follow(signal);
  const refused = new AbortController();
  const ended = AbortSignal.any([signal, refused.signal]);
  const watch = setInterval(async () => {
    // While the database cannot be asked, e.g. while it restarts, what is open stays open.
    const works = await stores.tokens.isValid(actor.id).catch(() => true);
    if (!works) refused.abort();
  }, CHECK_SECONDS * 1000);
  // Also for a reader who goes without taking what is left.
  ended.addEventListener("abort", () => clearInterval(watch), { once: true });
  try {
    yield* follow(ended);
  } finally {
    clearInterval(watch);
  }
}
