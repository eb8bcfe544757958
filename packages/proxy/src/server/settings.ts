import type { Host } from "@berth/host";
import type Docker from "dockerode";
import type { ProxySettings, TlsSettings } from "./routed-site.ts";

export interface ServerProxyOptions {
  readonly host: Host;
  readonly docker: Docker;
  /** Id of this Berth instance, since several may share an engine. */
  readonly instance: string;
  /** Absolute path on the server, the same for its engine; created when missing. */
  readonly folder: string;
  readonly image?: string | undefined;
  /** Public port for HTTP. Default 80. */
  readonly httpPort?: number | undefined;
  /** Public port for HTTPS. Default 443. */
  readonly httpsPort?: number | undefined;
  /** Default: automatic. */
  readonly tls?: TlsSettings | undefined;
  /** Proxies in front of this one. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Where requests for names that no site has go, as of now. Default: 404. */
  readonly redirectUrl?: (() => string | undefined) | undefined;
  /** Its upstreams are in overlay networks of a swarm, which it joins. Default: in networks of the server itself. */
  readonly joinsOverlays?: boolean | undefined;
  /** The networks that it joins on a cluster. Default: those on its own engine, which a manager knows. */
  readonly overlays?: (() => Promise<readonly string[]>) | undefined;
  /**
   * The proxy that obtains certificates for all nodes of its cluster, as of now: it answers the challenges of the
   * authority. Default: this one obtains them itself.
   */
  readonly issuingProxy?: (() => Address | undefined) | undefined;
  /** Further labels of its container. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export const proxySettings = ({
  httpPort,
  httpsPort,
  tls,
  trustedProxies,
  redirectUrl,
  joinsOverlays,
  issuingProxy,
}: ServerProxyOptions): ProxySettings => ({
  httpPort: httpPort ?? 80,
  httpsPort: httpsPort ?? 443,
  tls: tls ?? { issuer: "automatic" },
  trustedProxies: trustedProxies ?? [],
  spansMachines: joinsOverlays,
  issuesCertificates: issuingProxy === undefined,
  get redirectUrl() {
    return redirectUrl?.();
  },
  get issuingProxy() {
    return issuingProxy?.();
  },
});
