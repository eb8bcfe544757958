import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { checkMachine } from "./machine.ts";

const GB_KB = 1024 * 1024;
let folder: ReturnType<typeof temporaryFolder>;
const proxy = createServer();
let port: number;
beforeEach(async () => {
  folder = temporaryFolder();
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterEach(async () => {
  await new Promise((resolve) => proxy.close(resolve));
  folder[Symbol.dispose]();
});

/** A machine's proc files. */
function machine({ command = "node\0dist/main.js\0", open = 50, max = 4096, availableKb = 8 * GB_KB } = {}) {
  const procFolder = join(folder.path, "proc");
  const own = join(procFolder, "77");
  mkdirSync(join(own, "fd"), { recursive: true });
  for (let n = 0; n < open; n += 1) writeFileSync(join(own, "fd", `${n}`), "");
  writeFileSync(join(folder.path, "server.pid"), "77\n");
  writeFileSync(join(own, "cmdline"), command);
  writeFileSync(join(own, "limits"), `Max processes 10 10\nMax open files            ${max}                 1048576\n`);
  writeFileSync(join(own, "environ"), `BERTH_PROXY_HOST=127.0.0.1\0BERTH_PROXY_PORT=${port}\0`);
  writeFileSync(join(procFolder, "meminfo"), `MemTotal: 1 kB\nMemAvailable:   ${availableKb} kB\n`);
  return { dataFolder: folder.path, env: {}, procFolder };
}
const found = async (options: Parameters<typeof machine>[0] = {}) =>
  (await checkMachine(machine(options))).map(({ subject, state }) => [subject, state]);

describe("the machine of the server", () => {
  test("has a port, descriptors and memory", async () => {
    expect(await found()).toEqual([
      [`port ${port}`, "ok"],
      ["file descriptors", "ok"],
      ["memory", "ok"],
    ]);
  });

  test.each([
    ["few descriptors", { max: 256 }, "file descriptors"],
    ["descriptors that are nearly all open", { max: 1024, open: 900 }, "file descriptors"],
    ["little memory", { availableKb: 100 * 1024 }, "memory"],
  ])("is warned of for %s, with a remedy", async (_why, options, subject) => {
    const findings = await checkMachine(machine(options));
    expect(findings.filter(({ state }) => state !== "ok")).toEqual([
      expect.objectContaining({ subject, state: "warning", remedy: expect.any(String) }),
    ]);
  });

  test("has a problem where nothing takes connections for applications", async () => {
    const options = machine();
    await new Promise((resolve) => proxy.close(resolve));
    expect(await checkMachine(options)).toContainEqual(
      expect.objectContaining({
        subject: `port ${port}`,
        state: "problem",
        remedy: expect.stringContaining("ss -ltnp"),
      }),
    );
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  });

  test("is not judged by another process that has its number now", async () => {
    expect((await found({ command: "bash\0" })).map(([subject]) => subject)).not.toContain("file descriptors");
  });
});
