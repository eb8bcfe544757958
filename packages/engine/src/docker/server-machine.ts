import type { ServerMachine } from "@berth/core/ports";
import type { Host } from "@berth/host";
import { inspectServer, pingServer, serverDisk } from "./inspect-server.ts";
import { installEngine } from "./install-engine.ts";

export interface ServerMachineOptions {
  readonly host: Host;
  /** The login of the server. */
  readonly user: () => string;
  /** Forgets failed connects: somebody has just mended the server. */
  readonly retryNow: () => void;
  /** Logs in anew. */
  readonly reconnect: () => Promise<void>;
  readonly socketPath?: string | undefined;
  /** How long a look may take. Default 30. */
  readonly timeoutSeconds?: number | undefined;
}

/** The machine below a server's Docker engine, here or over SSH. */
export function serverMachine(options: ServerMachineOptions): ServerMachine {
  const { host, user, retryNow, reconnect, socketPath, timeoutSeconds = 30 } = options;
  const look = () => ({ socketPath, signal: AbortSignal.timeout(timeoutSeconds * 1000) });
  return {
    async inspect() {
      retryNow();
      return await inspectServer(host, look());
    },
    ping(signal) {
      retryNow();
      return pingServer(host, { socketPath, signal });
    },
    disk: () => serverDisk(host, look()),
    async installEngine(onLine, signal) {
      retryNow();
      await installEngine(host, { user: user(), onLine, signal });
      // Groups that a login got just now hold from its next connection on.
      await reconnect();
    },
  };
}
