import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { expect, it } from "vitest";
import { site } from "../proxy.fixture.ts";
import { traefikProxy } from "./traefik.ts";

it("keeps in its one file what it and another control plane were told", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-traefik-"));
  const host = localHost("here");
  const options = { host, docker: dockerClient(host), instance: "test", folder };
  const [first, second] = [traefikProxy(options), traefikProxy(options)];
  const rules = async () => {
    const file = JSON.parse(await readFile(join(folder, "config", "traefik", "berth.yml"), "utf8"));
    return Object.values<{ rule: string }>(file.http?.routers ?? {}).map(({ rule }) => rule);
  };
  try {
    const upstream = { host: "10.0.0.2", port: 80 };
    await first.put(site("a", [upstream], { basicAuth: { username: "me", password: "plaintext" } }));
    await second.put(site("b", [upstream]));
    await first.put(site("c", []));
    expect(await rules()).toEqual(["Host(`a.test`)", "Host(`b.test`)", "Host(`c.test`)"]);
    await second.delete("a");
    await second.delete("a");
    expect(await rules()).toEqual(["Host(`b.test`)", "Host(`c.test`)"]);
    expect([await first.inFlight(upstream), first.capabilities.requestCounts]).toEqual([1, false]);
    expect(await readFile(join(folder, "sites", "b.json"), "utf8")).not.toContain("plaintext");
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const write: typeof host.files.write = async (path, content, how) => {
      if (path.endsWith("berth.yml")) {
        asked.resolve();
        await gate.promise;
      }
      await host.files.write(path, content, how);
    };
    const slow = traefikProxy({ ...options, host: { ...host, files: { ...host.files, write } } });
    const told = slow.put(site("d", [upstream]));
    await asked.promise;
    await first.put(site("e", [upstream]));
    gate.resolve();
    await told;
    expect(await rules()).toEqual(["b", "c", "d", "e"].map((id) => `Host(\`${id}.test\`)`));
    await first.sync([]);
    expect(await rules()).toEqual([]);
    expect(first.publicUrl("https://a.test:3000/x")).toBe("https://a.test/x");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it("writes the file anew only when it changed, is gone, or another control plane changed something", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-traefik-"));
  const host = localHost("here");
  const written: string[] = [];
  const write: typeof host.files.write = async (path, content, how) => {
    written.push(basename(path));
    await host.files.write(path, content, how);
  };
  const options = { host, docker: dockerClient(host), instance: "test", folder };
  const [proxy, other] = [
    traefikProxy({ ...options, host: { ...host, files: { ...host.files, write } } }),
    traefikProxy(options),
  ];
  const [old, young] = [site("a", [{ host: "10.0.0.2", port: 80 }]), site("a", [{ host: "10.0.0.3", port: 80 }])];
  /** Number of files that one synchronisation writes. */
  const writes = async (...sites: Parameters<typeof proxy.sync>[0][number][]) => {
    written.length = 0;
    await proxy.sync(sites);
    return written.length;
  };
  try {
    expect(await writes(old)).toBeGreaterThan(0);
    expect(await writes(old)).toBe(0);
    expect(await writes(young)).toBeGreaterThan(0);
    await other.put(old);
    expect(await writes(young)).toBeGreaterThan(0);
    expect(await writes(young)).toBe(0);
    await rm(join(folder, "config", "traefik", "berth.yml"));
    expect(await writes(young)).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
