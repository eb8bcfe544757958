import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deploy, made, placeOf } from "./applications.fixture.ts";
import { type OddEngine, oddEngine } from "./odd-engine.fixture.ts";
import { freePorts, type TestServer, testServer } from "./server.fixture.ts";

const MEMORY_MB_MAX = 400; // Far below what an endless answer would take in this time.

describe("a server whose engine answers what no engine does", () => {
  let folder: string;
  let engine: OddEngine;
  let server: TestServer;
  let serverUuid: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-odd-"));
    engine = await oddEngine(folder);
    const [httpPort, httpsPort] = await freePorts(2);
    server = await testServer({
      env: {
        BERTH_DOCKER: "auto",
        BERTH_DOCKER_SOCKET: engine.socketPath,
        BERTH_HTTP_PORT: String(httpPort),
        BERTH_HTTPS_PORT: String(httpsPort),
      },
    });
    const { body } = await server.rest("GET", "/servers");
    serverUuid = (body as { uuid: string; engine: string }[]).find((one) => one.engine === "docker")?.uuid ?? "";
    await until(async () => (await validated()).is_usable);
  });
  afterAll(async () => {
    engine?.become("well");
    await server?.dispose();
    await engine?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  const validated = async () => {
    const { body } = await server.rest("GET", `/servers/${serverUuid}`);
    return body as { is_usable: boolean; is_validating: boolean; validation_logs: string | null };
  };
  const memoryMb = () =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid()}/status`, "utf8"))?.[1]) / 1024;
  test.each([
    ["endless", "more than (6 MB|256 KB)"],
    ["malformed", "is not JSON|something else than JSON"],
    ["other types", "gave an unknown answer|in an unknown format"],
    ["cut off", "broke off|aborted"],
    ["silent", null],
  ] as const)("is reported, and delays nobody: %s", async (oddity, reason) => {
    engine.become("well");
    await until(async () => (await server.rest("GET", `/servers/${serverUuid}/validate`)).status < 300);
    await until(async () => (await validated()).is_usable);
    const beforeMb = memoryMb();
    engine.become(oddity);
    await server.rest("GET", `/servers/${serverUuid}/validate`);
    await until(() => engine.asked() > 3, { seconds: 30 });
    // Everything else is answered meanwhile.
    for (let at = 0; at < 20; at++) expect((await server.rest("GET", "/projects")).status).toBe(200);
    if (reason !== null) {
      const uuid = await made(server, "/applications/dockerimage", {
        ...(await placeOf(server)),
        server_uuid: serverUuid,
        docker_registry_image_name: "nginx",
        ports_exposes: "80",
      });
      const { status, error } = await deploy(server, uuid);
      expect({ status, error }).toEqual({ status: "failed", error: expect.stringMatching(reason) });
      await until(async () => !(await validated()).is_validating, { seconds: 60 });
      expect((await validated()).validation_logs).toMatch(new RegExp(reason));
    }
    expect(memoryMb() - beforeMb).toBeLessThan(MEMORY_MB_MAX);
  });
});
