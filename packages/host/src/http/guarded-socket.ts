import { connect, isIP, type Socket } from "node:net";
import { connected } from "../connected-socket.ts";
import { guardedLookup } from "./guarded-lookup.ts";
import { HttpFault, privateAddress } from "./http-fault.ts";
import { mayConnect, mayUse, type PrivateHosts } from "./private-hosts.ts";

/**
 * A connection to an address that users name, for a protocol other than HTTP. Like `guardedFetch` it connects to no
 * private address that is not allowed. @throws HttpFault
 */
export async function guardedSocket({
  host,
  port,
  allowedPrivateHosts,
  secondsMax,
}: {
  readonly host: string;
  readonly port: number;
  readonly allowedPrivateHosts: PrivateHosts;
  readonly secondsMax: number;
}): Promise<Socket> {
  const name = host.replace(/^\[|\]$/g, "");
  if (isIP(name) !== 0 && !mayConnect(name, name, allowedPrivateHosts)) throw privateAddress(host, name);
  const late = () => new HttpFault("timed_out", host, `${host} did not answer within ${secondsMax} seconds.`);
  const socket = connect({ host: name, port, lookup: guardedLookup(allowedPrivateHosts, privateAddress) });
  try {
    await connected(socket, secondsMax, late);
    if (!mayUse(socket, name, allowedPrivateHosts)) throw privateAddress(host, socket.remoteAddress ?? name);
    return socket;
  } catch (cause) {
    socket.destroy();
    if (cause instanceof HttpFault) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HttpFault("broken_off", host, `${host} cannot be reached: ${why}.`, { cause });
  }
}
