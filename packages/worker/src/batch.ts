/**
 * Answers calls of one moment by one reading of all their keys. While one reads, calls wait for the next: each is
 * answered by what was read after it was made.
 */
export function batched<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let waiting: Batch<Key, Value> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const begin = (): Batch<Key, Value> => {
    const keys = new Set<Key>();
    const answer = last
      // Those who ask in the same turn of the event loop are answered together.
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => {
        waiting = undefined;
        return read([...keys]);
      });
    last = answer.catch(() => undefined);
    return { keys, answer };
  };

  return async (key) => {
    waiting ??= begin();
    waiting.keys.add(key);
    return (await waiting.answer).get(key);
  };
}

interface Batch<Key, Value> {
  readonly keys: Set<Key>;
  readonly answer: Promise<ReadonlyMap<Key, Value>>;
}
