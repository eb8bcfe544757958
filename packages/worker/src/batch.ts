/**
 * Answers concurrent calls by one read of all their keys. Calls during a read wait for the next one, so each is
 * answered by a read that began after the call.
 */
export function batched<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let waiting: Batch<Key, Value> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const begin = (): Batch<Key, Value> => {
    const keys = new Set<Key>();
    const answer = last
      // Collects the calls of one turn of the event loop.
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
