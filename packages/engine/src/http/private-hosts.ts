import { BlockList, isIP } from "node:net";

/**
 * Which private places this instance may call: host names, addresses, ranges like `10.0.0.0/8`, or `*` for all. What is
 * not named here is refused when it is loopback, link-local, private or reserved.
 */
export type PrivateHosts = readonly string[];

/** @param host As the user wrote it, a name or an address without brackets. */
export function mayConnect(host: string, address: string, allowed: PrivateHosts): boolean {
  return (
    !isIn(RESERVED, address) || allowed.includes("*") || allowed.includes(host) || isIn(rangesOf(allowed), address)
  );
}

const RESERVED = rangesOf([
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"],
  // Unspecified, loopback and IPv4 in IPv6, NAT64 for local use, 6to4, unique local, link-local, multicast.
  ...["::/96", "64:ff9b:1::/48", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"],
]);

function rangesOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (isIP(address) === 0) continue;
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}
