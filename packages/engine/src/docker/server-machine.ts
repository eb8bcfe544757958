import { setTimeout as delay } from "node:timers/promises";
import type { ServerMachine } from "@berth/core/ports";
import { managedThroughOther } from "@berth/core/server";
import type { Host } from "@berth/host";
import { inspectServer, pingServer, serverDisk } from "./inspect-server.ts";
import { installEngine } from "./install-engine.ts";

export interface ServerMachineOptions {
  readonly host: Host;
  /** User of the server's login. */
  readonly user: () => string;
  /** Clears the pause after failed connects, because somebody has repaired the server. */
  readonly retryNow: () => void;
  /** Opens a new login session. */
  readonly reconnect: () => Promise<void>;
  readonly socketPath?: string | undefined;
  /** Asked after the engine has answered a ping. */
  readonly requireLeader?: (() => Promise<void>) | undefined;
  /** Name of the server that manages the cluster of this one in its place; `undefined`: nobody has to. */
  readonly substitute?: (() => Promise<string | undefined>) | undefined;
  /** Time limit of one inspection. Default 30. */
  readonly timeoutSeconds?: number | undefined;
}

/** The machine of a server's Docker engine, local or over SSH. */
export function serverMachine(options: ServerMachineOptions): ServerMachine {
  const { host, user, retryNow, reconnect, socketPath, requireLeader, timeoutSeconds = 30 } = options;
  const look = () => ({ socketPath, signal: AbortSignal.timeout(timeoutSeconds * 1000) });
  return {
    async inspect(onProgress) {
      retryNow();
      return await inspectServer(host, { ...look(), onProgress });
    },
    async ping(signal) {
      retryNow();
      const pinged = pingServer(host, { socketPath, signal }).then(
        () => null,
        (error: Error) => error,
      );
      // Asked at the same time: a machine that is away uses up the caller's time.
      const other = await options.substitute?.();
      if (other === undefined) {
        const failure = await pinged;
        if (failure !== null) throw failure;
        await requireLeader?.();
        return null;
      }
      const late = delay(LATE_MS, new Error(`Server ${host.name} does not answer.`), { ref: false });
      const failure = await Promise.race([pinged, late]);
      return failure && managedThroughOther(failure.message, host.name, other);
    },
    terminal: (size) => host.terminal(size),
    disk: () => serverDisk(host, look()),
    async installEngine(progress, signal) {
      retryNow();
      await installEngine(host, { user: user(), progress, signal });
      // A new group membership applies only to new login sessions.
      await reconnect();
    },
  };
}

/** Another manager was asked before, so the machine has had some time. */
const LATE_MS = 1000;
