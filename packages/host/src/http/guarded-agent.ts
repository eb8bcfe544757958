import { isIP } from "node:net";
import type { Agent, buildConnector } from "undici";
import { guardedLookup } from "./guarded-lookup.ts";
import { mayConnect, mayUse, type PrivateHosts } from "./private-hosts.ts";

type AddressRefusal = (host: string, address: string) => Error;

/**
 * Connects neither to private addresses that are not allowed nor to this machine. Checked for each connection, so it
 * also covers redirects and names that change.
 *
 * @param refusal Makes the error of a refused connection.
 */
export async function guardedAgent(
  allowed: PrivateHosts,
  refusal: AddressRefusal,
  timeouts: Pick<Agent.Options, "headersTimeout" | "bodyTimeout"> = {},
): Promise<Agent> {
  const { Agent, buildConnector } = await import("./undici.ts");
  const connect = buildConnector({ lookup: guardedLookup(allowed, refusal), timeout: CONNECT_SECONDS_MAX * 1000 });
  return new Agent({ connect: guarded(connect, allowed, refusal), ...timeouts });
}

function guarded(
  connect: buildConnector.connector,
  allowed: PrivateHosts,
  refusal: AddressRefusal,
): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, "");
    // A literal address is never looked up, so it is checked here.
    if (isIP(host) !== 0 && !mayConnect(host, host, allowed)) return callback(refusal(host, host), null);
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (mayUse(socket, host, allowed)) return callback(null, socket);
      socket.destroy();
      callback(refusal(host, socket.remoteAddress ?? host), null);
    });
  };
}

const CONNECT_SECONDS_MAX = 10;
