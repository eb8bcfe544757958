import { DomainError } from "@berth/core";
import type { ServerRecord, SystemStores } from "@berth/core/ports";
import { engineIdentity } from "@berth/engine";
import type { Host } from "@berth/host";
import { recordEngine } from "@berth/worker";

export interface OwnEngineOptions {
  readonly host: Host;
  readonly socketPath?: string | undefined;
  readonly stores: Pick<SystemStores, "transaction">;
  readonly record: () => ServerRecord;
}

/** Refuses the engine of a server when it is that of another server: both would manage the same containers. */
export interface OwnEngine {
  /** Asks the engine once, before the first use. @throws DomainError `engine.unreachable` */
  require(): Promise<void>;
  /** Asks again: another engine may answer now. */
  forget(): void;
}

export function ownEngine({ host, socketPath, stores, record }: OwnEngineOptions): OwnEngine {
  let checked: Promise<void> | undefined;

  async function check(): Promise<void> {
    const signal = AbortSignal.timeout(CHECK_SECONDS * 1000);
    const engineId = await engineIdentity(host, { socketPath, signal });
    if (engineId === null) return;
    const problem = await recordEngine(stores, record(), engineId);
    if (problem !== null) throw new DomainError("engine.unreachable", problem);
  }

  return {
    async require() {
      checked ??= check();
      const asked = checked;
      try {
        await asked;
      } catch (error) {
        if (checked === asked) checked = undefined;
        throw error;
      }
    },
    forget() {
      checked = undefined;
    },
  };
}

/** As long as an inspection of a server may take. */
const CHECK_SECONDS = 30;
