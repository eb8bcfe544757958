import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@berth/host";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BUILD_TOOLS } from "./tool.ts";
import { type ToolRelease, toolFetcher } from "./tool-fetcher.ts";

const HOST = "127.0.0.1";

describe("a build tool that is not installed", () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-tools-"));
  let archive: Buffer;
  let status = 200;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    response.writeHead(status).end(archive);
  });
  beforeAll(async () => {
    writeFileSync(join(folder, "nixpacks"), "#!/bin/sh\necho planned\n");
    const { exitCode } = await run(["tar", "-czf", join(folder, "a.tgz"), "-C", folder, "nixpacks"], { env: {} });
    expect(exitCode).toBe(0);
    archive = readFileSync(join(folder, "a.tgz"));
    await new Promise<void>((listening) => server.listen(0, HOST, listening));
  });
  beforeEach(() => {
    asked = 0;
    status = 200;
    rmSync(join(folder, "kept"), { recursive: true, force: true });
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function fetcher({ sha256 = createHash("sha256").update(archive).digest("hex"), privateHosts = [HOST] } = {}) {
    const { port } = server.address() as AddressInfo; // It listens on a port, not on a pipe.
    const release: ToolRelease = {
      version: "1.2.3",
      url: (target) => `http://${HOST}:${port}/${target}.tar.gz`,
      archives: { [process.arch]: { target: "this-machine", sha256 } },
    };
    const releases = { nixpacks: release, railpack: release };
    const fetch = toolFetcher({ folder: join(folder, "kept"), privateHosts, releases });
    return () => {
      const io = { signal: new AbortController().signal, onLine: () => undefined };
      return fetch(BUILD_TOOLS.nixpacks, io, "/usr/bin:/bin");
    };
  }

  test("is fetched once, and found by its name from then on", async () => {
    const fetch = fetcher();
    const { path, version } = await fetch();
    expect(version).toBe("1.2.3");
    const { output } = await run(["nixpacks"], { env: { PATH: path } });
    expect(output.trim()).toBe("planned");
    await fetch();
    expect(asked).toBe(1);
  });

  test.each<[string, Parameters<typeof fetcher>[0], number, string]>([
    ["has another checksum", { sha256: "0".repeat(64) }, 200, "its checksum is another one than Berth knows"],
    ["is not there", {}, 404, "answered 404"],
    ["lies in a private network", { privateHosts: [] }, 200, "is a private address or this machine"],
  ])("is not kept when it %s", async (_what, given, answered, reason) => {
    status = answered;
    await expect(fetcher(given)()).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: expect.stringContaining(reason),
    });
    expect(readdirSync(join(folder, "kept"))).toEqual([]);
  });
});
