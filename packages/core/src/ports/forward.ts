/** A port of a server that is forwarded to a resource. It transports bytes, so any protocol works. */
export interface Forward {
  readonly resourceUuid: string;
  /** Port of the server. At most one per resource. */
  readonly publicPort: number;
  /** Network of the server that contains the resource. */
  readonly network: string;
  /** A name in that network; requests go to the release that has it. */
  readonly host: string;
  readonly port: number;
  /** A connection without traffic for this long is closed. */
  readonly idleSeconds: number;
  /** Only programs on the same machine can reach the port. */
  readonly isLoopback?: boolean;
}

/** A forward that exists on a server. */
export interface PresentForward {
  readonly resourceUuid: string;
  /** Its definition; `undefined` if another version of Berth created it. */
  readonly forward: Forward | undefined;
  readonly isRunning: boolean;
}

/** Forwards ports of a server. Each call rejects only with a `DomainError` and may be repeated. */
export interface Forwarder {
  list(): Promise<readonly PresentForward[]>;
  /**
   * Resolves when the forward has the port; a moment later it accepts connections.
   * @throws DomainError `port.taken` if another program on the server has the port; nothing is left behind then.
   */
  open(forward: Forward): Promise<void>;
  /** Idempotent. Ends open connections. */
  close(resourceUuid: string): Promise<void>;
}
