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
  readonly expiresAt: Date;
  /** Why a browser refuses it; `null` if it does not. */
  readonly problem: string | null;
}

/** Looks at sites from outside of their proxy. Neither call waits for longer than some seconds. */
export interface SiteProbe {
  /** Without addresses for a name that nobody knows. */
  addresses(host: string): Promise<NameAddresses>;
  /**
   * Asks the proxy of the server itself, wherever the name leads, at the proxy's own port: another one, which a URL may
   * name, would say which ports of the server are open. Returns a sentence where nothing is presented.
   */
  certificate(server: ServerRecord, host: string): Promise<SeenCertificate | { readonly failure: string }>;
}
