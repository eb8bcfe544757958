import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cloudInitProblem, cloudInitText } from "./cloud-init.ts";
import { addressesWanted, HetznerServerCreate, machineAddress } from "./cloud-server.ts";

const SENT = {
  cloud_provider_token_uuid: "t",
  location: "fsn1",
  server_type: "cx22",
  image: 1,
  private_key_uuid: "k",
};
const fieldsOf = (sent: object) => {
  const { error } = HetznerServerCreate.safeParse({ ...SENT, ...sent });
  return error?.issues.map(({ path }) => path.join("."));
};

describe("the name of a rented server", () => {
  test.each(["a", "web-1", "1web", "web.shop.example", `${"a".repeat(63)}.b`, null, ""])("may be %s", (name) => {
    expect(fieldsOf({ name })).toBeUndefined();
  });

  test.each(["Web", "web_1", "-web", "web-", "web.", ".web", "web..shop", "a".repeat(64), "wéb", "a b", "web\n"])(
    "is no host name: %s",
    (name) => {
      expect(fieldsOf({ name })).toEqual(["name"]);
    },
  );

  test("has at most 253 characters", () => {
    const name = Array.from({ length: 64 }, () => "abc").join(".");
    expect([name.length, fieldsOf({ name: name.slice(0, 253) }), fieldsOf({ name })]).toEqual([
      255,
      undefined,
      ["name"],
    ]);
  });

  test("never takes what a URL would not take as its host", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9.-]{1,80}$/), (name) => {
        if (fieldsOf({ name }) !== undefined) return;
        expect(name.split(".").every((label) => label.length > 0 && label.length <= 63)).toBe(true);
        expect(name).not.toMatch(/^-|-$|\.-|-\./);
      }),
    );
  });
});

describe("what cloud-init runs", () => {
  test.each([
    ["a script", "#!/bin/sh\napt-get update\n", "#!/bin/sh\napt-get update\n"],
    ["YAML with its first line", "#cloud-config\npackages: [git]\n", "#cloud-config\npackages: [git]\n"],
    ["YAML without it", "packages:\n  - git\n", "#cloud-config\npackages:\n  - git\n"],
  ])("may be %s", (_, sent, run) => {
    expect([cloudInitProblem(sent), cloudInitText(sent)]).toEqual([undefined, run]);
  });

  test.each([
    ["a sentence", "install git please", "YAML with keys"],
    ["a list", "- git\n", "YAML with keys"],
    ["nothing but a comment", "#cloud-config\n", "YAML with keys"],
    ["broken YAML", "packages: [git\n", "or YAML: "],
    ["YAML that names a key twice", "a: 1\na: 2\n", "or YAML: "],
    ["more than Hetzner takes", `#!${"é".repeat(16_384)}`, "At most 32 KiB."],
  ])("is not %s", (_, text, words) => {
    expect(cloudInitProblem(text)).toContain(words);
    expect(fieldsOf({ cloud_init_script: text })).toEqual(["cloud_init_script"]);
  });
});

describe("the creation of a rented server", () => {
  test.each([
    [{ image: "161" }, undefined],
    [{ enable_ipv4: "0", enable_ipv6: 1, instant_validate: "1" }, undefined],
    [{ hetzner_ssh_key_ids: ["1", 2] }, undefined],
    [{ hetzner_ssh_key_ids: null, name: null, cloud_init_script: "" }, undefined],
    [{ image: "ubuntu" }, ["image"]],
    [{ image: 0 }, ["image"]],
    [{ hetzner_ssh_key_ids: ["x"] }, ["hetzner_ssh_key_ids.0"]],
    [{ enable_ipv4: "yes" }, ["enable_ipv4"]],
    [{ location: "", server_type: 7 }, ["location", "server_type"]],
    [{ hetzner_firewall_ids: [1] }, [""]],
  ])("reads %o", (sent, fields) => {
    expect(fieldsOf(sent)).toEqual(fields);
  });

  test("wants both addresses unless one is turned off, and never none", () => {
    const wanted = (sent: object) => addressesWanted(HetznerServerCreate.parse({ ...SENT, ...sent }));
    expect(wanted({})).toEqual({ hasIpv4: true, hasIpv6: true });
    expect(wanted({ enable_ipv4: false, enable_ipv6: null })).toEqual({ hasIpv4: false, hasIpv6: true });
    expect(() => wanted({ enable_ipv4: false, enable_ipv6: 0 })).toThrow("Validation failed.");
  });
});

describe("a machine's address", () => {
  test.each([
    [{ ipv4: "192.0.2.7", ipv6: "2001:db8::/64" }, "192.0.2.7"],
    [{ ipv4: null, ipv6: "2001:db8:1:2::/64" }, "2001:db8:1:2::1"],
    [{ ipv4: null, ipv6: "2001:0DB8:0:0::/64" }, "2001:db8::1"],
    [{ ipv4: null, ipv6: "2001:db8::7" }, "2001:db8::7"],
    [{ ipv4: "not an address", ipv6: "2001:db8::/64" }, "2001:db8::1"],
    [{ ipv4: null, ipv6: null }, undefined],
    [{ ipv4: "", ipv6: "junk/64" }, undefined],
  ])("of %o is %s", (machine, address) => {
    expect(machineAddress(machine)).toBe(address);
  });
});
