import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { ServerRecord } from "@berth/core/ports";
import { expect, test } from "vitest";
import { siteProbe } from "./site-probe.ts";

test("a certificate is asked for at the port of the server's proxy, whatever a URL names", async () => {
  let connections = 0;
  const proxy = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {}).destroy();
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port } = proxy.address() as AddressInfo; // It listens at TCP.
  const server = { id: 1, ip: "localhost", engine: "docker", private_key_id: null, team_id: 0 } as ServerRecord; // Nothing else is read here.
  const asked: string[] = [];
  const probe = siteProbe([], (url) => {
    asked.push(url);
    return `https://site.invalid:${port}/`;
  });
  try {
    expect(await probe.certificate(server, "shop.example")).toHaveProperty("failure");
  } finally {
    proxy.close();
  }
  expect(connections).toBe(1);
  expect(asked.map((url) => new URL(url).port)).toEqual([""]);
});

test("a DNS record is compared with the public addresses of a server alone, also where private ones are allowed", async () => {
  const probe = siteProbe(["10.0.0.0/8"], (url) => url);
  const at = (ip: string) =>
    probe.serverAddresses({ id: 1, ip, engine: "docker", private_key_id: 1, team_id: 0 } as ServerRecord); // Nothing else is read here.
  expect(await at("10.0.0.5")).toEqual([]);
  expect(await at("203.0.113.7")).toEqual(["203.0.113.7"]);
});
