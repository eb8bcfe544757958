import { isOwnAddress } from "../own-address.ts";
import { addressRanges } from "./address-ranges.ts";

/**
 * Private hosts that this instance may call: names, addresses, ranges like `10.0.0.0/8`, or `*` for all. Other
 * addresses are refused when they are loopback, link-local, private or reserved.
 */
export type PrivateHosts = readonly string[];

/**
 * This machine's own addresses are refused as well, public ones too: connecting alone would reveal open ports.
 * @param host As the user wrote it, a name or an address without brackets.
 */
export const mayConnect = (host: string, address: string, allowed: PrivateHosts, isOwn = isOwnAddress): boolean =>
  !(isReserved(address) || isOwn(address)) || isNamed(host, address, allowed);

/** Whether an open connection may be used: not if it leads to this machine, by an address that was not known before. */
export const mayUse = ({ localAddress, remoteAddress }: Ends, host: string, allowed: PrivateHosts): boolean =>
  localAddress === undefined || localAddress !== remoteAddress || isNamed(host, localAddress, allowed);

interface Ends {
  readonly localAddress?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

const isNamed = (host: string, address: string, allowed: PrivateHosts): boolean =>
  allowed.includes("*") || allowed.includes(host) || addressRanges(allowed)(address);

const RESERVED_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"],
];

/** Prefixes for IPv6 addresses that embed an IPv4 address: NAT64, and its local form. */
const TRANSLATED = ["64:ff9b::", "::ffff:0:"];

const isReserved = addressRanges([
  ...RESERVED_IPV4,
  // Unspecified, loopback, embedded IPv4, local NAT64, Teredo, 6to4, unique local, link-local, deprecated site-local
  // and multicast.
  ...["::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
  ...TRANSLATED.flatMap((prefix) =>
    RESERVED_IPV4.map((range) => {
      const [address = "", bits] = range.split("/");
      return `${prefix}${address}/${96 + Number(bits)}`;
    }),
  ),
]);
