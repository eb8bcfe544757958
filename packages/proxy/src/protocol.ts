import type { Site } from "@berth/core/ports";
import type { InFlight } from "./upstream.ts";

/** Protocol between control plane and proxy process: its argument, files and requests. */

/** The process's one argument, as JSON. */
export interface ProxyConfig {
  /** Hash of its code and how it was started: a proxy of another version is replaced. */
  readonly version: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Addresses and ranges of other proxies, which are believed. */
  readonly trustedProxies: readonly string[];
  readonly limits: ProxyLimits;
  /** User that it becomes once it listens; `null` to keep the current one. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

/** Against clients that hold what they do not use. */
export interface ProxyLimits {
  /** For the head of a request, from its first byte or the opening of the connection. */
  readonly headersSeconds: number;
  /** Without a byte, while the client owes us the rest of a body or does not take what we have for it. */
  readonly stallSeconds: number;
  /**
   * At once; more are closed as they come. Each busy one takes about 32 KiB and, with that to its upstream, two open
   * files.
   */
  readonly connections: number;
}

/** Instead of the configuration: load everything to fill the compile cache, and end. */
export const WARM_ARGUMENT = "warm";

/** In the proxy's folder, written by the control plane before it tells the proxy, read by the proxy at its start. */
export const TABLE_FILE = "table.json";

export interface TableFile {
  readonly sites: readonly Site[];
}

/** In the proxy's folder. Connecting to it is how a control plane finds the proxies that run. */
export const socketName = (pid: number): string => `${pid}.sock`;

/** Status of the proxy. */
export interface ProxyStatus extends ProxyConfig {
  readonly pid: number;
  /** Port of its socket while it listens. */
  readonly port: number;
  readonly state: "listening" | "waiting" | "retired";
  /** Why it does not listen: the code of Node's error, such as `EADDRINUSE`. */
  readonly listenError: string | null;
  readonly requests: number;
  readonly connections: number;
  readonly inFlight: readonly InFlight[];
}

/**
 * Requests on the control socket: the path of a POST and the JSON of its body. Each is answered by the status after it,
 * once every request that clients send from then on follows it.
 */
export interface ControlRequests {
  readonly stats: undefined;
  readonly sync: readonly Site[];
  readonly put: Site;
  readonly delete: string;
  /** Tries again to listen, after its previous owner gave up the port. */
  readonly listen: undefined;
  /** Gives up its port, ends what is in flight and exits. */
  readonly retire: undefined;
}

/** A GET that is answered by nothing until the proxy ends. */
export const WATCH_PATH = "/watch";
