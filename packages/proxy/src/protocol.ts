import type { Site } from "@berth/core/ports";
import type { InFlight } from "./upstream.ts";

/** Protocol between control plane and proxy process: its argument, files and requests. */

/** The only argument of the process, as JSON. */
export interface ProxyConfig {
  /** Hash of its code and start options: a proxy of another version is replaced. */
  readonly version: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Addresses and ranges of trusted proxies in front of this one. */
  readonly trustedProxies: readonly string[];
  readonly limits: ProxyLimits;
  /** User to switch to after listening; `null` keeps the current one. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

/** Protection against clients that occupy resources without using them. */
export interface ProxyLimits {
  /** Time for the head of a request, from its first byte or the opening of the connection. */
  readonly headersSeconds: number;
  /** Time without a byte, while the client has to send or read a body. */
  readonly stallSeconds: number;
  /**
   * Concurrent connections; more are closed on arrival. A busy one uses about 32 KiB and, with the upstream's, two
   * open files.
   */
  readonly connections: number;
}

/** Given instead of the configuration: loads all code to fill the compile cache, and exits. */
export const WARM_ARGUMENT = "warm";

/** Socket in the proxy's folder. A control plane connects to each to find running proxies. */
export const socketName = (pid: number): string => `${pid}.sock`;

/** Status of the proxy. */
export interface ProxyStatus extends ProxyConfig {
  readonly pid: number;
  /** Port on which it listens, if it does. */
  readonly port: number;
  readonly state: "listening" | "waiting" | "retired";
  /** Why it does not listen: the code of Node's error, such as `EADDRINUSE`. */
  readonly listenError: string | null;
  readonly requests: number;
  /** Differs after each start. */
  readonly run: string;
  /** Answered requests of counted sites, by id. */
  readonly answered: readonly (readonly [siteId: string, count: number])[];
  readonly connections: number;
  readonly inFlight: readonly InFlight[];
}

/**
 * Requests on the control socket: the path of a POST and the JSON of its body. The answer is the new status, sent when
 * the change applies to every later request of clients.
 */
export interface ControlRequests {
  readonly stats: undefined;
  readonly sync: readonly Site[];
  readonly put: Site;
  readonly delete: string;
  /** Tries to listen again, after the previous owner gave up the port. */
  readonly listen: undefined;
  /** Gives up its port, finishes the requests in flight and exits. */
  readonly retire: undefined;
}

/** A GET that stays unanswered until the proxy exits. */
export const WATCH_PATH = "/watch";
