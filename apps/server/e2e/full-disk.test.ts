import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.fixture.ts";

const FULL_MB = 300;

/** Only root may mount a disk of its own size. */
function mounted(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "berth-full-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${FULL_MB}m,mode=0711`, "berth-full", folder], {
      stdio: "ignore",
    });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

const disk = mounted();
if (disk === undefined) console.log("NOT_SUPPORTED full disk: only root may mount a file system");

describe.runIf(disk !== undefined)("a server whose disk is full", () => {
  let server: TestServer;
  const folder = disk ?? "";
  const ballast = join(folder, "ballast");

  beforeAll(async () => {
    chmodSync(folder, 0o711);
    server = await testServer({ dataFolder: join(folder, "data") });
  });
  afterAll(async () => {
    await server?.dispose();
    execFileSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("says so, keeps what it acknowledged, and continues when there is space", async () => {
    try {
      writeFileSync(ballast, Buffer.alloc(FULL_MB << 20));
    } catch {
      // The file fills the disk.
    }
    const kept: string[] = [];
    const write = async () => {
      const name = `p${kept.length} ${"x".repeat(200)}`;
      const answer = await server.rest("POST", "/projects", { name, description: "y".repeat(200) });
      if (answer.status === 201) kept.push(name);
      return answer;
    };
    const readiness = await fetch(`${server.url}/health/ready`);
    expect([readiness.status, await readiness.json()]).toEqual([
      503,
      expect.objectContaining({ checks: expect.objectContaining({ disk: expect.stringContaining("is full") }) }),
    ]);
    const refused = await until(
      async () => {
        const answers = await Promise.all(Array.from({ length: 50 }, write));
        return answers.find(({ status }) => status !== 201);
      },
      { seconds: 60 },
    );
    const message = expect.stringMatching(/^The disk of \/.+\/data is full \(\d+ MB free\), so nothing was written/);
    expect(refused).toMatchObject({ status: 503, body: { code: "storage.full", message } });
    const logged = server.output().length;
    await Promise.all(Array.from({ length: 200 }, write));
    expect((await server.rest("GET", "/version")).status).toBe(200);
    expect(server.output().length - logged).toBeLessThan(10_000);

    rmSync(ballast);
    await until(async () => (await write()).status === 201, { seconds: 30 });
    const { body } = await server.rest("GET", "/projects");
    const names = new Set((body as { name: string }[]).map(({ name }) => name));
    expect(kept.filter((name) => !names.has(name))).toEqual([]);
  });
});
