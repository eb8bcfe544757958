import { expect, test } from "vitest";
import { HostKey, hostKeyAfter } from "./host-key.ts";

const key = `SHA256:${"a".repeat(43)}`;
const other = `SHA256:${"b".repeat(43)}`;
const server = { ip: "203.0.113.7", port: 22, host_key: key };

test.each([
  ["keeps the key of a server that stays where it is", {}, key],
  ["forgets it with another address", { ip: "203.0.113.8" }, null],
  ["forgets it with another port", { port: 2222 }, null],
  ["forgets it when asked to", { host_key: null }, null],
  ["takes the one that is given, also with another address", { ip: "203.0.113.8", host_key: other }, other],
])("%s", (_title, change, expected) => {
  expect(hostKeyAfter(server, { ip: server.ip, port: server.port, ...change })).toBe(expected);
});

test.each(["", "SHA256:", `SHA256:${"a".repeat(42)}`, `MD5:${"a".repeat(43)}`, `${key}\n`, "ssh-ed25519 AAAA"])(
  "takes no %j for a fingerprint",
  (text) => {
    expect(HostKey.safeParse(text).success).toBe(false);
  },
);
