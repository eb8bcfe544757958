import { describe, expect, test } from "vitest";
import { mayConnect, mayUse } from "./private-hosts.ts";

describe("mayConnect", () => {
  test.each([
    ...[
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "127.0.0.1",
      "127.9.9.9",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
    ],
    ...["192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1"],
    ...["fc00::1", "fd12::1", "fe80::1", "ff02::1", "2002:7f00:1::", "64:ff9b:1::7f00:1"],
    ...["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "::ffff:0:a00:1", "fec0::1", "2001:0:7f00:1::"],
  ])("refuses %s unless it is allowed", (address) => {
    expect(mayConnect("git.example", address, [])).toBe(false);
    expect(mayConnect("git.example", address, ["other.example", "203.0.113.0/24"])).toBe(false);
    expect(mayConnect("git.example", address, ["git.example"])).toBe(true);
    expect(mayConnect("git.example", address, ["*"])).toBe(true);
    expect(mayConnect("git.example", address, [address])).toBe(true);
  });

  test.each([
    "8.8.8.8",
    "172.32.0.1",
    "192.169.0.1",
    "100.128.0.1",
    "2606:4700::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ])("allows %s", (address) => {
    expect(mayConnect("git.example", address, [])).toBe(true);
  });

  test("a connection to this machine itself is used only where it is allowed, whatever its address", () => {
    const own = { localAddress: "203.0.113.7", remoteAddress: "203.0.113.7" };
    expect(mayUse(own, "git.example", [])).toBe(false);
    expect(mayUse(own, "git.example", ["203.0.113.0/24"])).toBe(true);
    expect(mayUse(own, "git.example", ["git.example"])).toBe(true);
    expect(mayUse({ ...own, localAddress: "203.0.113.8" }, "git.example", [])).toBe(true);
    // Pipes and closed connections have no addresses.
    expect(mayUse({}, "git.example", [])).toBe(true);
  });

  test("allows a range and nothing beside it", () => {
    expect(mayConnect("h", "10.2.3.4", ["10.2.0.0/16"])).toBe(true);
    expect(mayConnect("h", "10.3.3.4", ["10.2.0.0/16"])).toBe(false);
    expect(mayConnect("h", "fd12:3456::1", ["fd12:3456::/32"])).toBe(true);
    expect(mayConnect("h", "fd12:3457::1", ["fd12:3456::/32"])).toBe(false);
  });
});
