import { tmpdir } from "node:os";
import type { LauncherOptions } from "./launcher/launcher.ts";
import { spawnHere } from "./own-spawn.ts";
import type { ProgramStarter } from "./program.ts";
import { startProgramsBy } from "./spawn.ts";

/** From now on a small process starts all programs of this one, whose fork would stop it. */
export function startProgramsApart(options: Pick<LauncherOptions, "warn">): void {
  let making: Promise<ProgramStarter> | undefined;
  startProgramsBy(async (request) => {
    making ??= starter(options);
    return (await making)(request);
  });
}

async function starter(options: Pick<LauncherOptions, "warn">): Promise<ProgramStarter> {
  try {
    const { launcher } = await import("./launcher/launcher.ts");
    return launcher({ ...options, otherwise: spawnHere, temporaryFolder: tmpdir() }).start;
  } catch (cause) {
    // As after an update that removed the files of the running version.
    options.warn?.("The code that starts programs is missing; until its next start the server does it.", cause);
    return spawnHere;
  }
}
