import { DomainError } from "@berth/core";
import type { ServerRecord, SystemStores } from "@berth/core/ports";
import { sameEngineProblem } from "@berth/core/server";
import { engineIdentity } from "@berth/engine";
import type { Host } from "@berth/host";

export interface EngineAdmissionOptions {
  readonly host: Host;
  readonly socketPath?: string | undefined;
  readonly stores: Pick<SystemStores, "servers">;
  readonly record: () => ServerRecord;
}

/** Refuses the engine of a server when it is that of another server: both would manage the same containers. */
export interface EngineAdmission {
  /** Asks the engine once, before the first use. @throws DomainError `engine.unreachable` */
  admit(): Promise<void>;
  /** Asks again: another engine may answer now. */
  forget(): void;
}

export function engineAdmission({ host, socketPath, stores, record }: EngineAdmissionOptions): EngineAdmission {
  let admitted: Promise<void> | undefined;

  async function check(): Promise<void> {
    const signal = AbortSignal.timeout(CHECK_SECONDS * 1000);
    const engineId = await engineIdentity(host, { socketPath, signal });
    if (engineId === null) return;
    const server = record();
    const holder = await stores.servers.claimEngine(server.id, engineId);
    if (holder !== undefined) throw new DomainError("engine.unreachable", sameEngineProblem(server, holder));
  }

  return {
    async admit() {
      admitted ??= check();
      const asked = admitted;
      try {
        await asked;
      } catch (error) {
        if (admitted === asked) admitted = undefined;
        throw error;
      }
    },
    forget() {
      admitted = undefined;
    },
  };
}

/** As long as an inspection of a server may take. */
const CHECK_SECONDS = 30;
