import type { Operation } from "@berth/core/deploy";
import { applyOperation, lockKey, type OperationDeps } from "./operations.ts";
import type { ServerAdapters } from "./server-adapters.ts";

/** Applies planned operations. A slow one delays only those with the same lock key. */
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
  const locks = new Map<string, OperationLock>();

  const beginUnder = (key: string, adapters: ServerAdapters, operations: readonly Operation[]) => {
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
      try {
        await applyOperation(deps, adapters, operation, stopping);
      } catch (error) {
        if (stopping.aborted) return;
        const details = { server: adapters.server.name, operation, error };
        deps.logger.warn("A server could not be reconciled.", details);
      }
    }
  };

  return {
    begin(adapters, operations) {
      for (const [key, those] of Map.groupBy(operations, lockKey)) beginUnder(key, adapters, those);
    },
    ended: () => Promise.all([...locks.values()].map(({ work }) => work)),
  };
}
