import type { IncomingMessage } from "node:http";
import { BlockList } from "node:net";

/** Whether a client is a trusted proxy, whose `X-Forwarded-*` headers are used. */
export type Trust = (request: Pick<IncomingMessage, "socket">) => boolean;

/** @param ranges Addresses and ranges of trusted proxies: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
export function trustIn(ranges: readonly string[]): Trust {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return ({ socket: { remoteAddress = "" } }) => {
    const address = plainAddress(remoteAddress);
    return address !== "" && list.check(address, familyOf(address));
  };
}

/** A socket on `::` reports IPv4 clients as `::ffff:10.0.0.1`. */
export const plainAddress = (address: string): string => (address.startsWith("::ffff:") ? address.slice(7) : address);

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4");

const LOOPBACK = trustIn(["127.0.0.0/8", "::1"]);

/** Whether the peer runs on this machine: no other machine can use these addresses in a connection. */
export const isOwnMachine: Trust = (request) =>
  LOOPBACK(request) || request.socket.remoteAddress === request.socket.localAddress;
