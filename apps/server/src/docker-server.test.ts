import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { ServerRecord, SystemStores } from "@berth/core/ports";
import { localHost } from "@berth/host";
import { expect, test } from "vitest";
import { dataFolder } from "./data-folder.ts";
import { dockerServer } from "./docker-server.ts";

test("a server's proxy lies where its login of the moment may write", async () => {
  const root = mkdtempSync(join(tmpdir(), "berth-docker-server-"));
  const made: string[] = [];
  const local = localHost("web");
  const files = {
    ...local.files,
    makeFolder: async (path: string) => {
      made.push(path);
      throw new DomainError("engine.failed", "That is all this test looks at.");
    },
  };
  const record = {
    ...{ id: 1, uuid: "web", name: "web", ip: "192.0.2.1", port: 22, user: "root", engine: "docker", team_id: 1 },
    ...{ private_key_id: 1, host_key: null, proxy_type: "CADDY", is_proxy_stopped: false },
    settings: { redirect_enabled: true, redirect_url: null },
  } as ServerRecord; // Nothing else is read here.
  const member = dockerServer(record, {
    stores: {} as SystemStores, // Only for SSH.
    folder: dataFolder(root),
    instanceId: "i1",
    local: { isWanted: true, socketPath: "/nowhere", httpPort: 80, httpsPort: 443, network: "berth" },
    tls: { issuer: "internal" },
    trustedProxies: [],
    allowedPrivateHosts: [],
    baseImages: new Map(),
    fetchesBuildTools: false,
    buildPercent: { memory: 100, cpu: 100 },
    inWorkplace: () => Promise.reject(new Error("Nothing is built here.")),
    guests: () => [],
    nodesOf: async () => [],
    ingressOf: async () => [],
    headOf: () => undefined,
    hostOf: () => ({ ...local, files }),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const site = { id: "a", name: "a", routes: [], upstreams: [] };
  try {
    await expect(member.proxy.put(site)).rejects.toThrow();
    member.update({ ...record, user: "deploy" });
    await expect(member.proxy.put(site)).rejects.toThrow();
    expect(made.map((path) => path.replace(/\/proxy\/.*/, ""))).toEqual([
      "/var/lib/berth/i1",
      "/home/deploy/.berth/i1",
    ]);
  } finally {
    await member.close();
    rmSync(root, { recursive: true, force: true });
  }
});
