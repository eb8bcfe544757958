import type { ServerRecord } from "./records.ts";

/** The addresses of a name. */
export interface NameAddresses {
  /** In the order of the resolver, at most sixteen; without private ones that users may not learn. */
  readonly addresses: readonly string[];
  /** Whether it also has private addresses, which are not listed. */
  readonly hasHidden: boolean;
}

/** The certificate that a proxy presents for a name. */
export interface SeenCertificate {
  /** Organisation or name of its authority. */
  readonly issuer: string | null;
  readonly startsAt: Date;
  readonly expiresAt: Date;
  /** Whether it is for the name that was asked for. Proxies present another one while they have none for it. */
  readonly isForName: boolean;
  /** Why a browser refuses it; `null` if it does not. */
  readonly problem: string | null;
}

/** No certificate was presented. */
export interface MissingCertificate {
  /** A sentence. */
  readonly failure: string;
  /** Whether the proxy answered at all; not if it accepted a connection and was silent. */
  readonly isReached: boolean;
}

/** Checks sites from outside of their proxy. No call waits for longer than some seconds. */
export interface SiteProbe {
  /** Without addresses for a name that nobody knows. */
  addresses(host: string): Promise<NameAddresses>;
  /** Public ones. None of Berth's own machine: it may be behind another address. */
  serverAddresses(server: ServerRecord): Promise<readonly string[]>;
  /**
   * Asks the proxy of the server itself, whatever its name resolves to, at the proxy's own port: another one, which a URL may
   * name, would say which ports of the server are open.
   */
  certificate(server: ServerRecord, host: string): Promise<SeenCertificate | MissingCertificate>;
}
