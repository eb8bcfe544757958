import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { AddressBook } from "@berth/core/ports";

interface Machine {
  readonly hostName: () => string;
  readonly addresses: () => readonly string[];
  /** What connecting to a name would reach. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/** Of the machine that this process runs on. A name that cannot be resolved leads nowhere yet. */
export function addressBook(machine: Machine = thisMachine): AddressBook {
  return {
    async isOwn(host) {
      const name = host.toLowerCase().replace(/\.$/, "");
      if (OWN_NAMES.test(name) || name === machine.hostName().toLowerCase()) return true;
      const own = listOf(machine.addresses());
      // Also what is an address in some spelling: the resolver of connections knows them all.
      const addresses = isIP(name) === 0 ? await machine.resolve(name).catch(() => []) : [name];
      return addresses.some((address) => isIn(LOOPBACK, address) || isIn(own, address));
    },
  };
}

/** Of files of host names everywhere, of RFC 6761, and how containers call the machine that they run on. */
const OWN_NAMES =
  /^((.+\.)?localhost|localhost\.localdomain|ip6-(localhost|loopback)|(.+\.)?(host|gateway)\.docker\.internal)$/;

const thisMachine: Machine = {
  hostName: hostname,
  addresses: () => Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
  resolve: async (name) => {
    const found = lookup(name, { all: true }).then((all) => all.map(({ address }) => address));
    return await Promise.race([found, tooLate()]);
  },
};

const tooLate = (): Promise<never> =>
  new Promise((_resolve, reject) => setTimeout(reject, RESOLVE_MS_MAX, new Error("The name service is slow.")).unref());

const RESOLVE_MS_MAX = 3000;

/** What leads to an IPv4 address that stands at the end of an IPv6 one. IPv4 in IPv6 is seen through by itself. */
const PREFIXES = ["::", "64:ff9b::", "::ffff:0:"];

function listOf(addresses: readonly string[], bits = 32): BlockList {
  const list = new BlockList();
  for (const address of addresses) {
    if (isIP(address) === 6) list.addAddress(address, "ipv6");
    if (isIP(address) !== 4) continue;
    list.addSubnet(address, bits, "ipv4");
    for (const prefix of PREFIXES) list.addSubnet(`${prefix}${address}`, 96 + bits, "ipv6");
  }
  return list;
}

const LOOPBACK = listOf(["127.0.0.0", "0.0.0.0"], 8);
LOOPBACK.addAddress("::1", "ipv6");
LOOPBACK.addAddress("::", "ipv6");

const isIn = (list: BlockList, address: string) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
