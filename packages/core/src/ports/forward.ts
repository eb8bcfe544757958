/** A port of a server that leads to a resource on it, byte by byte: what is reached so need not speak HTTP. */
export interface Forward {
  readonly resourceUuid: string;
  /** Port of the server. A resource has at most one. */
  readonly publicPort: number;
  /** Network of the server that the resource is in. */
  readonly network: string;
  /** A name that its network knows: whichever release has it is reached. */
  readonly host: string;
  readonly port: number;
  /** A connection on which nothing has come or gone for so long is closed. */
  readonly idleSeconds: number;
  /** Only programs of the server's own machine reach the port. */
  readonly isLoopback?: boolean;
}

/** A forward that exists on a server. */
export interface PresentForward {
  readonly resourceUuid: string;
  /** Its definition; `undefined` when another version of Berth created it. */
  readonly forward: Forward | undefined;
  readonly isRunning: boolean;
}

/** Forwards ports of a server. Every call rejects only with a `DomainError` and may be repeated. */
export interface Forwarder {
  list(): Promise<readonly PresentForward[]>;
  /**
   * Resolves when the port is the forward's; a moment later it takes connections.
   * @throws DomainError `port.taken` when somebody else on the server has the port; nothing stays then.
   */
  open(forward: Forward): Promise<void>;
  /** Idempotent. Cuts what is connected through it. */
  close(resourceUuid: string): Promise<void>;
}
