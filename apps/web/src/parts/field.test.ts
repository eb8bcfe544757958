import { expect, test } from "vitest";
import { z } from "zod";
import { changedFields, fieldOf, helpOf } from "./field.ts";

test.each([
  ["Compress answers at the proxy. Default true.", "Compress answers at the proxy."],
  ["Default false.", ""],
  ["The variable that gets its URL. Default `DATABASE_URL`.", "The variable that gets its URL. Default DATABASE_URL."],
  ["Its URLs, such as `https://shop.example`. Answers have them in `fqdn`.", "Its URLs, such as https://shop.example."],
  ["Expected fingerprint. Null: that of the next connection is recorded.", "Expected fingerprint."],
  ["Requests in a second; null: they decide nothing. Only for Caddy.", "Requests in a second. Only for Caddy."],
  ["The compose file: plain YAML, or base64 of it.", "The compose file."],
  ["PEM or OpenSSH form, or base64 of it. Ed25519.", "PEM or OpenSSH form. Ed25519."],
  ["Reachable at `public_port`, which must be set too.", "Reachable at “Public port”, which must be set too."],
  ["Deliver as `logdrain_custom_config` says.", "Deliver as “Config” says."],
  ["One condition a line, such as `node.labels.zone == a`.", "One condition a line, such as node.labels.zone == a."],
])("the help of a field with the description %j is %j", (description, help) => {
  expect(helpOf(description)).toBe(help);
});

test("a list is entered with commas, spaces or line breaks, and null when it is emptied", () => {
  const field = fieldOf("urls", z.array(z.string()).nullable().default(null));
  expect([field.type, field.isNullable, field.isRequired]).toEqual(["list", true, false]);
  expect(fieldOf("urls", z.array(z.string()).describe("Its URLs.")).about).toBe("Its URLs. Separate them by commas.");
  const before = { urls: ["https://a.example", "https://b.example"] };
  const changed = (urls: unknown) => changedFields([field], before, { urls });
  expect(changed("https://a.example,\n https://c.example ,,")).toEqual({
    urls: ["https://a.example", "https://c.example"],
  });
  expect(changed("")).toEqual({ urls: null });
  expect(changed(" , ")).toEqual({ urls: null });
  expect(changed("https://a.example, https://b.example")).toEqual({});
  expect(changed(before.urls)).toEqual({});
  expect(changedFields([field], { urls: null }, { urls: null })).toEqual({});
});
