import { createHash } from "node:crypto";
import { DomainError, isDomainError } from "@berth/core";
import type { Client, ConnectConfig } from "ssh2";
import type { PrivateHosts } from "./http/private-hosts.ts";
import {
  connectFailure,
  connectionClosed,
  connectionLost,
  detailsOf,
  hostKeyChanged,
  keyUnreadable,
  type SshTarget,
} from "./ssh-failure.ts";
import { sshSocket } from "./ssh-socket.ts";

export interface SshOptions extends SshTarget {
  /** Read for each connect and not stored: the key never leaves this process's memory. */
  readonly privateKey: () => Promise<string>;
  /**
   * `SHA256:…` as `ssh-keygen -l` prints it. `null`: the key of the first connection is recorded and required from
   * then on.
   */
  readonly hostKey: string | null;
  /** Records the first host key before anything is sent. If it rejects, the connection is closed. */
  readonly onHostKey: (fingerprint: string) => Promise<void>;
  /** Private addresses that the server may have. Default: any, including this machine's own. */
  readonly privateHosts?: PrivateHosts | undefined;
  /** Delay after a failed connect: doubles from the first value to the last. Default 1 and 60. */
  readonly retrySeconds?: number | undefined;
  readonly retrySecondsMax?: number | undefined;
}

/** A connection to a machine, shared by all callers and opened at the first call. */
export interface SshConnection {
  readonly target: SshTarget;
  /** The open connection. During the delay after a failure, it rejects at once with that failure. */
  client(): Promise<Client>;
  /**
   * Opens a channel. Retries once when the connection has broken, since nothing was sent yet.
   *
   * @param refused Makes the error when the machine refuses the channel.
   */
  open<T extends { destroy(): void } | { end(): void }>(
    start: (client: Client, done: (error: Error | undefined, channel: T) => void) => void,
    refused: (cause: Error) => DomainError | Promise<DomainError>,
    signal?: AbortSignal,
  ): Promise<T>;
  /** Clears the delay after a failure, so that the next call tries at once. */
  retryNow(): void;
  close(): Promise<void>;
}

export function sshConnection(options: SshOptions): SshConnection {
  let current: Promise<Client> | undefined;
  let pinned = options.hostKey;
  let failure: { readonly error: DomainError; readonly untilMs: number; readonly waitMs: number } | undefined;
  let isClosed = false;

  const pin = async (fingerprint: string) => {
    if (pinned === null) {
      await options.onHostKey(fingerprint);
      pinned = fingerprint;
    }
    if (pinned !== fingerprint) throw hostKeyChanged(options, pinned, fingerprint);
  };

  const rest = (error: DomainError) => {
    const [first, last] = [options.retrySeconds ?? RETRY_SECONDS, options.retrySecondsMax ?? RETRY_SECONDS_MAX];
    const waitMs = failure === undefined ? first * 1000 : Math.min(failure.waitMs * 2, last * 1000);
    failure = { error, waitMs, untilMs: performance.now() + waitMs };
  };

  const connect = async (): Promise<Client> => {
    const forget = () => {
      if (current === attempt) current = undefined;
    };
    const attempt = connected(options, pin, forget);
    current = attempt;
    try {
      const client = await attempt;
      failure = undefined;
      if (isClosed) client.end();
      return client;
    } catch (error) {
      forget();
      const told = isDomainError(error) ? error : connectFailure(options, error);
      rest(told);
      throw told;
    }
  };

  const client = async (): Promise<Client> => {
    if (isClosed) throw connectionClosed(options.name);
    if (current !== undefined) return await current.catch((error) => Promise.reject(failure?.error ?? error));
    if (failure !== undefined && performance.now() < failure.untilMs) throw failure.error;
    return await connect();
  };

  return {
    target: options,
    client,
    async open(start, refused, signal) {
      for (let attempt = 1; ; attempt++) {
        signal?.throwIfAborted();
        const used = await unlessAborted(client(), signal);
        try {
          return await opened(used, start, signal);
        } catch (cause) {
          if (isDomainError(cause) || !(cause instanceof Error)) throw cause;
          if (detailsOf(cause).reason !== undefined) throw await refused(cause);
          used.destroy();
          if (attempt === 2) throw connectionLost(options.name, cause);
        }
      }
    },
    retryNow: () => {
      // An immediate retry still increases the backoff.
      failure = failure && { ...failure, untilMs: 0 };
    },
    async close() {
      isClosed = true;
      const last = await current?.catch(() => undefined);
      last?.end();
      // Destroyed, since waiting for the other side's end could take for ever.
      last?.destroy();
    },
  };
}

async function connected(
  options: SshOptions,
  pin: (fingerprint: string) => Promise<void>,
  onGone: () => void,
): Promise<Client> {
  const privateKey = await options.privateKey();
  // Before the socket, whose errors nobody would hear meanwhile.
  const { default: ssh2 } = await import("./ssh2.ts");
  const sock = await sshSocket(options, options.privateHosts);
  // Every channel that is being opened adds a listener.
  const client = new ssh2.Client().setMaxListeners(0);
  return await new Promise<Client>((resolve, reject) => {
    client.once("ready", () => {
      // Without it, Nagle's algorithm delays each call by 45 ms.
      client.setNoDelay(true);
      resolve(client);
    });
    client.on("error", (error) => {
      onGone();
      reject(error);
    });
    client.once("close", () => {
      onGone();
      reject(connectionLost(options.name));
    });
    const config: ConnectConfig = {
      sock,
      username: options.user,
      privateKey,
      readyTimeout: options.connectTimeoutSeconds * 1000,
      keepaliveInterval: KEEPALIVE_SECONDS * 1000,
      keepaliveCountMax: KEEPALIVES_MISSED_MAX,
      hostVerifier: (key: Buffer, verify: (isRight: boolean) => void) => {
        pin(fingerprintOf(key)).then(
          () => verify(true),
          (error: unknown) => {
            reject(error);
            verify(false);
          },
        );
      },
    };
    try {
      client.connect(config);
    } catch {
      sock.destroy();
      // ssh2 parses the key here. The cause may quote it.
      reject(keyUnreadable(options));
    }
  });
}

function opened<T extends { destroy(): void } | { end(): void }>(
  client: Client,
  start: (client: Client, done: (error: Error | undefined, channel: T) => void) => void,
  signal: AbortSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    // A machine that is gone would never answer.
    const onGone = () => reject(new Error("The connection is gone."));
    signal?.addEventListener("abort", onAbort, { once: true });
    client.once("close", onGone);
    start(client, (error, channel) => {
      signal?.removeEventListener("abort", onAbort);
      client.removeListener("close", onGone);
      if (error !== undefined) return reject(error);
      if (signal?.aborted) return "destroy" in channel ? channel.destroy() : channel.end();
      resolve(channel);
    });
  });
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work;
  if (signal.aborted) throw cancelled();
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** The fingerprint as `ssh-keygen -l` prints it. */
export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;

export const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");

const RETRY_SECONDS = 1;
const RETRY_SECONDS_MAX = 60;
const KEEPALIVE_SECONDS = 10;
const KEEPALIVES_MISSED_MAX = 2;
