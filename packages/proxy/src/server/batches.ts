/** At most so many writes at once: a server over SSH answers each in its own time. */
const BATCH = 16;

export async function eachInBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += BATCH) await Promise.all(items.slice(at, at + BATCH).map(work));
}
