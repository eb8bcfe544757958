import type { ServerMachine } from "@berth/core/ports";
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
  /** Time limit of one inspection. Default 30. */
  readonly timeoutSeconds?: number | undefined;
}

/** The machine of a server's Docker engine, local or over SSH. */
export function serverMachine(options: ServerMachineOptions): ServerMachine {
  const { host, user, retryNow, reconnect, socketPath, requireLeader, timeoutSeconds = 30 } = options;
  const look = () => ({ socketPath, signal: AbortSignal.timeout(timeoutSeconds * 1000) });
  return {
    async inspect() {
      retryNow();
      return await inspectServer(host, look());
    },
    async ping(signal) {
      retryNow();
      await pingServer(host, { socketPath, signal });
      await requireLeader?.();
    },
    terminal: (size) => host.terminal(size),
    disk: () => serverDisk(host, look()),
    async installEngine(onLine, signal) {
      retryNow();
      await installEngine(host, { user: user(), onLine, signal });
      // A new group membership applies only to new login sessions.
      await reconnect();
    },
  };
}
