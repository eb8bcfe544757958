import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CutClient, cutsOf, describeCuts, relay } from "@berth/testing";
import { describe } from "vitest";
import { sshHost } from "./ssh-host.ts";
import { hasSshd, makeSshd } from "./sshd.fixture.ts";

const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const LINES = 50_000;

describe.runIf(hasSshd)("over sshd,", () =>
  describeCuts("a connection by SSH", { open, codes: ["server.unreachable"], rounds: 3 }),
);

async function open(): Promise<CutClient> {
  const sshd = await makeSshd();
  await sshd.start();
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-ssh-"));
  const written = join(folder, "written");
  writeFileSync(written, "");
  const way = await relay({ host: "127.0.0.1", port: sshd.port });
  const host = sshHost({
    ...{ name: "web-1", ip: "127.0.0.1", port: way.port, user: sshd.user, connectTimeoutSeconds: 10 },
    privateKey: async () => sshd.privateKey,
    hostKey: null,
    onHostKey: async () => {},
    bridgeFolder: join(folder, "bridges"),
  });
  return {
    cuts: cutsOf(way),
    async write(number) {
      // A machine that refused is left alone for a while; a call for a repaired one is not.
      host.retryNow();
      const { exitCode } = await host.run(["sh", "-c", 'echo "$1" >>"$0"', written, String(number)], { env });
      return exitCode === 0;
    },
    written: async () => readFileSync(written, "utf8").trim().split("\n").map(Number),
    async read(onBegun) {
      let count = 0;
      const onLine = () => {
        count += 1;
        if (count === 1) onBegun();
      };
      host.retryNow();
      const { exitCode } = await host.run(["seq", String(LINES)], { env, onLine });
      return exitCode === 0 && count === LINES;
    },
    async close() {
      await host.close?.();
      await way.close();
      await sshd.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
