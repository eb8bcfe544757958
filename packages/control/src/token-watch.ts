import type { UseCaseContext } from "./context.ts";

/** Revoked tokens stop working at once, and changed roles count at once, but in open streams only at their next check. */
const CHECK_SECONDS = 5;

/**
 * The items of `follow`, until `signal` fires or the caller's token was revoked, has expired, or has other rights than
 * those that decide what the stream shows. The stream then ends as if the client had disconnected.
 */
export async function* whileTokenWorks<T>(
  { scope: { actor }, stores }: Pick<UseCaseContext, "scope" | "stores">,
  signal: AbortSignal,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void> {
  if (actor.type !== "token") return yield* follow(signal);
  const refused = new AbortController();
  const ended = AbortSignal.any([signal, refused.signal]);
  const stopChecks = checkRegularly(async () => {
    // While the database is unavailable, e.g. during a restart, open streams stay open.
    const works = await stores.tokens.isValid(actor.id, actor.role).catch(() => true);
    if (!works) refused.abort();
  });
  // Also for a reader that disconnects without reading the rest.
  ended.addEventListener("abort", stopChecks, { once: true });
  try {
    yield* follow(ended);
  } finally {
    stopChecks();
  }
}

const checks = new Set<() => Promise<void>>();
let timer: NodeJS.Timeout | undefined;

/** All streams are checked in the same turn of the event loop, so that the store reads their tokens in one query. */
function checkRegularly(check: () => Promise<void>): () => void {
  checks.add(check);
  timer ??= setInterval(() => {
    for (const one of checks) void one();
  }, CHECK_SECONDS * 1000);
  return () => {
    checks.delete(check);
    if (checks.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
