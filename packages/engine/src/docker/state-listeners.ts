import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";

/** Listeners for changes of a release's state. */
export interface StateListeners {
  emit(state: ReleaseState): void;
  /** @returns A function that stops listening. */
  add(listener: (state: ReleaseState) => void): () => void;
  /** Resolves at the next change of this release, on `signal`, or after a second. */
  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void>;
  clear(): void;
}

export function stateListeners(warn: (message: string, cause: unknown) => void): StateListeners {
  const listeners = new Set<(state: ReleaseState) => void>();
  return {
    emit(state) {
      for (const listener of listeners) {
        try {
          listener(state);
        } catch (cause) {
          warn("A listener to changes of releases failed.", cause);
        }
      }
    },
    add(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    changed: ({ deploymentUuid }, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          listeners.delete(listener);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const listener = (state: ReleaseState) => state.deploymentUuid === deploymentUuid && done();
        const timer = setTimeout(done, CHANGED_MS);
        listeners.add(listener);
        signal?.addEventListener("abort", done, { once: true });
        if (signal?.aborted) done();
      }),
    clear: () => listeners.clear(),
  };
}

const CHANGED_MS = 1000;
