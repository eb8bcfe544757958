import type { LiveKey } from "@berth/core/deploy";
import type { Engine, ReleaseRecord, ServerRecord, SystemStores } from "@berth/core/ports";
import { redactor } from "@berth/host";
import { testUuid } from "@berth/testing";
import type { LeaseRunner } from "../lease-runner.ts";
import type { BackupTools } from "../ports.ts";
import { DEFAULT_SETTINGS, type WorkerSettings } from "../settings.ts";
import { wakeSignal } from "../wake-signal.ts";
import { createBackupRunner } from "./runner.ts";

export interface TestRunner {
  readonly system: SystemStores;
  readonly server: Pick<ServerRecord, "id">;
  readonly engine: Engine;
  /** Releases by database id. */
  readonly releases: ReadonlyMap<number, ReleaseRecord>;
  readonly tools: () => BackupTools;
  readonly settings?: Partial<WorkerSettings>;
}

/** A backup runner in this process, configured like a worker's. */
export function testRunner({ system, server, engine, releases, tools, settings }: TestRunner): LeaseRunner {
  const never = (): never => {
    throw new Error("Not for backups.");
  };
  const runner = createBackupRunner(
    {
      stores: {
        ...system,
        releases: { ...system.releases, live: async ({ resource_id }: LiveKey) => releases.get(resource_id) },
      },
      engineFor: () => engine,
      // Backups use only the engine of a server.
      adaptersOf: (found) => ({ server: found, engine, proxy: never, router: never, connect: undefined }) as never,
      proxyFor: never,
      source: never as never,
      credentialsFor: never,
      redactor,
      clock: { now: () => new Date() },
      owner: testUuid(),
      diskOf: async () => undefined,
      machineOf: () => undefined,
      ownsServer: ({ id }) => id === server.id,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      settings: {
        ...DEFAULT_SETTINGS,
        pollSeconds: 0.1,
        idleSeconds: 0.1,
        reconcileSeconds: 0.1,
        taskFlushMs: 10,
        ...settings,
      },
      get backups() {
        return tools();
      },
    },
    wakeSignal(),
  );
  runner.start();
  return runner;
}
