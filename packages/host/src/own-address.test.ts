import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { addressBook, localAddresses } from "./own-address.ts";

const machine = {
  hostName: () => "Control-1",
  addresses: () => ["10.1.2.3", "fe80::1", "2001:db8::7"],
  resolve: async (name: string) => {
    const known: Readonly<Record<string, readonly string[]>> = {
      "sneaky.example": ["127.0.0.1"],
      "two.example": ["203.0.113.9", "10.1.2.3"],
      "web.example": ["203.0.113.9"],
    };
    const found = known[name];
    if (found === undefined) throw new Error("unknown");
    return found;
  },
};

describe("the machine that Berth runs on", () => {
  test.each([
    ...["127.0.0.1", "127.1.2.3", "127.255.255.255", "0.0.0.0", "0.1.2.3", "::1", "::", "0:0:0:0:0:0:0:1"],
    ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::7f00:1"],
    ...["::ffff:0:127.0.0.1", "::ffff:0.0.0.0", "localhost", "LOCALHOST", "localhost.", "x.localhost"],
    ...["localhost.localdomain", "ip6-localhost", "ip6-loopback", "host.docker.internal", "x.host.docker.internal"],
    ...["control-1", "CONTROL-1", "10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203", "64:ff9b::10.1.2.3", "fe80::1"],
    ...["2001:db8::7", "2001:0DB8:0::0007", "sneaky.example", "Sneaky.Example.", "two.example"],
  ])("is known as %s", async (host) => {
    expect(await addressBook(machine).isOwn(host)).toBe(true);
  });

  test.each(["203.0.113.9", "10.1.2.4", "2001:db8::8", "web.example", "unknown.example", "localhost.example"])(
    "is not %s",
    async (host) => {
      expect(await addressBook(machine).isOwn(host)).toBe(false);
    },
  );

  test.each(["0x7f.1", "0x7f000001", "0x7f.0.0.1", "2130706433", "127.1", "0177.0.0.1", "017700000001"])(
    "is known by the resolver's spelling %s",
    async (host) => {
      expect(await addressBook().isOwn(host)).toBe(true);
    },
  );

  test("is known by addresses of interfaces without a carrier", () => {
    const ipv4 = [
      "Main:",
      "        |-- 172.17.0.0",
      "           /16 link UNICAST",
      "Local:",
      "           |-- 172.17.0.1",
      "              /32 host LOCAL",
      "           |-- 172.17.255.255",
      "              /32 link BROADCAST",
      "           |-- 192.0.2.2",
      "              /32 host LOCAL",
      "",
    ].join("\n");
    const ipv6 = "fd000000000000000000000000000002 04 40 00 82     eth0\n";
    const addresses = localAddresses({ ipv4, ipv6 });
    expect(addresses).toEqual(["172.17.0.1", "192.0.2.2", "fd00:0000:0000:0000:0000:0000:0000:0002"]);
    expect(localAddresses({ ipv4: "", ipv6: "" })).toEqual([]);
  });

  test("is known by every address of its interfaces", async () => {
    const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
    for (const address of own) expect(await addressBook().isOwn(address)).toBe(true);
  });
});
