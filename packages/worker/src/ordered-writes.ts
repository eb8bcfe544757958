/** Writes of what is shown while something runs. A failed one is only missing in what is shown. */
export interface OrderedWrites {
  add(write: () => Promise<unknown>): void;
  /** Resolves after the writes that were added by now. */
  done(): Promise<void>;
}

/** Writes one after the other, so that the newest is written last. */
export function orderedWrites(): OrderedWrites {
  let last: Promise<unknown> = Promise.resolve();
  return {
    add(write) {
      last = last.then(write).catch(() => undefined);
    },
    async done() {
      await last;
    },
  };
}
