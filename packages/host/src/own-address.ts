import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import type { AddressBook } from "@berth/core/ports";

interface Machine {
  readonly hostName: () => string;
  readonly addresses: () => readonly string[];
  /** Resolves a name to the same addresses as a connection would. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/** This machine's own addresses. Names that cannot be resolved do not belong to it. */
export function addressBook(machine: Machine = thisMachine): AddressBook {
  return {
    async isOwn(host) {
      const name = host.toLowerCase().replace(/\.$/, "");
      if (OWN_NAMES.test(name) || name === machine.hostName().toLowerCase()) return true;
      const own = listOf(machine.addresses());
      // The system's resolver also accepts unusual spellings of addresses.
      const addresses = isIP(name) === 0 ? await machine.resolve(name).catch(() => []) : [name];
      return addresses.some((address) => isIn(LOOPBACK, address) || isIn(own, address));
    },
  };
}

/** Looked up each time, since interfaces may change. */
export const isOwnAddress = (address: string): boolean =>
  isIP(address) !== 0 && isIn(listOf(thisMachine.addresses()), address);

/** Names of this machine: from hosts files, from RFC 6761, and as containers name it. */
const OWN_NAMES =
  /^((.+\.)?localhost|localhost\.localdomain|ip6-(localhost|loopback)|(.+\.)?(host|gateway)\.docker\.internal)$/;

const thisMachine: Machine = {
  hostName: hostname,
  addresses: () => [
    ...Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
    // Includes interfaces without a carrier, such as an unused bridge.
    ...localAddresses({ ipv4: readProc("/proc/net/fib_trie"), ipv6: readProc("/proc/net/if_inet6") }),
  ],
  resolve: async (name) => {
    const found = lookup(name, { all: true }).then((all) => all.map(({ address }) => address));
    return await Promise.race([found, tooLate()]);
  },
};

function readProc(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return ""; // The file does not exist on every system.
  }
}

/** Addresses that the kernel answers for, parsed from its tables. */
export function localAddresses({ ipv4, ipv6 }: { readonly ipv4: string; readonly ipv6: string }): readonly string[] {
  const four = [...ipv4.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g)].map(([, address = ""]) => address);
  const six = [...ipv6.matchAll(/^([0-9a-f]{32}) /gm)].map(([, hex = ""]) => hex.replace(/.{4}(?!$)/g, "$&:"));
  return [...four, ...six];
}

const tooLate = (): Promise<never> =>
  new Promise((_resolve, reject) => setTimeout(reject, RESOLVE_MS_MAX, new Error("The name service is slow.")).unref());

const RESOLVE_MS_MAX = 3000;

/** Prefixes for IPv6 addresses that embed an IPv4 address. IPv4-mapped ones are recognised anyway. */
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
