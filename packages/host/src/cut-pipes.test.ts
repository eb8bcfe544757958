import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CutClient, describeCuts } from "@berth/testing";
import { run } from "./local.ts";

const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const LINES = 50_000;
/** More than a pipe holds, so that a program which ends early leaves some of it unread. */
const INPUT_BYTES = 1 << 20;

describeCuts("a pipe to a program", { open, codes: ["engine.failed"], rounds: 10 });

async function open(): Promise<CutClient> {
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-pipes-"));
  const written = join(folder, "written");
  writeFileSync(written, "");
  const running = new Set<number>();
  const armed: { start?: () => void; answer?: () => void } = {};
  const kill = (pid: number) => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  const killAt = (moment: "start" | "answer", pid: number) => {
    const onKilled = armed[moment];
    if (onKilled === undefined) return;
    delete armed[moment];
    kill(pid);
    onKilled();
  };
  return {
    cuts: {
      all() {
        for (const pid of running) kill(pid);
      },
      inRequest: () => new Promise((resolve) => Object.assign(armed, { start: resolve })),
      inAnswer: () => new Promise((resolve) => Object.assign(armed, { answer: resolve })),
    },
    async write(number) {
      let pid = 0;
      const script = 'read -r number; echo begun; cat >/dev/null; echo "$number" >>"$0"';
      const { exitCode } = await run(["sh", "-c", script, written], {
        env,
        stdin: `${number}\n${"x".repeat(INPUT_BYTES)}`,
        async onStart(started) {
          pid = started;
          running.add(pid);
          killAt("start", pid);
        },
        onLine: () => killAt("answer", pid),
      }).finally(() => running.delete(pid));
      return exitCode === 0;
    },
    written: async () => readFileSync(written, "utf8").trim().split("\n").map(Number),
    async read(onBegun) {
      let pid = 0;
      let count = 0;
      const { exitCode } = await run(["seq", String(LINES)], {
        env,
        async onStart(started) {
          pid = started;
          running.add(pid);
        },
        onLine() {
          count += 1;
          if (count === 1) onBegun();
        },
      }).finally(() => running.delete(pid));
      return exitCode === 0 && count === LINES;
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
