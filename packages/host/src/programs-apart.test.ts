import { afterEach, expect, test, vi } from "vitest";
import { run } from "./local.ts";
import { spawnHere } from "./own-spawn.ts";
import { startProgramsApart } from "./programs-apart.ts";
import { startProgramsBy } from "./spawn.ts";

afterEach(() => {
  startProgramsBy(spawnHere);
  vi.doUnmock("./launcher/launcher.ts");
});

test("programs are started where the launcher's code is missing, which is reported once", async () => {
  vi.doMock("./launcher/launcher.ts", () => {
    throw new Error("Cannot find module");
  });
  const warnings: string[] = [];
  startProgramsApart({ warn: (message) => warnings.push(message) });
  for (const code of [0, 3]) {
    expect((await run(["/bin/sh", "-c", `exit ${code}`], { env: {} })).exitCode).toBe(code);
  }
  expect(warnings).toEqual([expect.stringContaining("until its next start the server does it")]);
});
