import { isDatabaseUnavailable } from "@berth/core";
import type { Operation } from "@berth/core/deploy";
import { dedupedWarnings } from "./deduped-warnings.ts";
import { applyOperation, lockKey, type OperationDeps } from "./operations.ts";
import { retryBackoff } from "./retry-backoff.ts";
import type { ServerAdapters } from "./server-adapters.ts";

/**
 * Applies planned operations. A slow one delays only those with the same lock key. One that fails is reported once, and
 * tried again after a growing pause for as long as it is planned; another plan under its key is tried at once.
 */
export interface OperationRunner {
  /** Skips operations whose lock is taken: they are planned again when it is free. */
  begin(adapters: ServerAdapters, operations: readonly Operation[]): void;
  /** Resolves when all operations that were begun have ended. */
  ended(): Promise<unknown>;
}

export interface OperationRunnerOptions {
  readonly stopping: AbortSignal;
  /** Called when a lock is free for which operations were skipped. */
  onFree(): void;
}

interface OperationLock {
  readonly work: Promise<void>;
  isAwaited: boolean;
}

export function createOperationRunner(deps: OperationDeps, options: OperationRunnerOptions): OperationRunner {
  const { stopping, onFree } = options;
  const { restSeconds, restSecondsMax } = deps.settings;
  const locks = new Map<string, OperationLock>();
  const backoff = retryBackoff({ firstSeconds: restSeconds, secondsMax: restSecondsMax });
  const warnings = dedupedWarnings(deps.logger);

  const beginUnder = (key: string, adapters: ServerAdapters, planned: readonly Operation[]) => {
    const operations = planned.filter((operation) => !backoff.isResting(aboutOf(adapters, operation)));
    if (operations.length === 0) return;
    const before = locks.get(key);
    if (before !== undefined) {
      before.isAwaited = true;
      return;
    }
    const work = applyAll(adapters, operations).finally(() => {
      locks.delete(key);
      if (lock.isAwaited) onFree();
    });
    const lock: OperationLock = { work, isAwaited: false };
    locks.set(key, lock);
  };

  const applyAll = async (adapters: ServerAdapters, operations: readonly Operation[]) => {
    for (const operation of operations) {
      if (stopping.aborted) return;
      const about = aboutOf(adapters, operation);
      const details = { server: adapters.server.name, operation };
      try {
        await applyOperation(deps, adapters, operation, stopping);
        backoff.succeeded(about);
        warnings.over(about, "A server could be brought to what is recorded again.", details);
      } catch (error) {
        if (stopping.aborted) return;
        // The database reports its own outage, after which all of this is due at once.
        if (!isDatabaseUnavailable(error)) backoff.failed(about);
        warnings.failed(about, "A server could not be brought to what is recorded.", { ...details, error });
      }
    }
  };

  return {
    begin(adapters, operations) {
      // A server that does not answer delays no other one that has releases of the same resource.
      const keyOf = (operation: Operation) => `${adapters.server.id} ${lockKey(operation)}`;
      for (const [key, those] of Map.groupBy(operations, keyOf)) beginUnder(key, adapters, those);
    },
    ended: () => Promise.all([...locks.values()].map(({ work }) => work)),
  };
}

/** Identifies an operation among its repetitions. */
const aboutOf = ({ server }: ServerAdapters, operation: Operation): string =>
  `${server.id} ${JSON.stringify(operation)}`;
