import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../local.ts";
import { isRoot } from "../user.ts";

const FIXTURE = fileURLToPath(new URL("rebinding.process.fixture.ts", import.meta.url));
const SCRIPT = 'ip link set lo up && mount --bind "$1" /etc/resolv.conf && exec "$2" "$3"';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-rebinding-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!isRoot())(
  "a name that first leads to a public address and then to this machine is never followed here",
  async () => {
    const resolver = join(folder, "resolv.conf");
    writeFileSync(resolver, "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n");
    const namespaces = ["unshare", "--mount", "--net", "/bin/sh", "-c", SCRIPT, "sh"] as const;
    const lines: string[] = [];
    const { exitCode } = await run([...namespaces, resolver, process.execPath, FIXTURE], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      timeoutSeconds: 60,
      onLine: (line) => void lines.push(line),
    });
    expect([exitCode, lines.length], lines.join("\n")).toEqual([0, 1]);
    const { asked, ...outcome } = JSON.parse(lines[0] ?? "");
    expect(outcome).toEqual({
      // What was checked is what is connected to: nothing answers there, and the name is not looked up again.
      first: "broken_off",
      second: "private_address",
      both: "broken_off",
      redirected: "private_address",
      allowed: "secret",
      requests: ["redirecting.test:8080", "rebinding.test:8080"],
    });
    expect(asked).toEqual({ "rebinding.test": 4, "both.test": 1, "redirecting.test": 1 });
  },
);
