type Alone = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Serialises calls with the same key; a failed one does not block the next. */
export function lockByKey(): Alone {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    const next = before.then(work, work);
    const settled = next.catch(() => undefined);
    last.set(key, settled);
    try {
      return await next;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}
