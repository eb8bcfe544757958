import { tmpdir } from "node:os";
import type { Launcher, LauncherOptions } from "./launcher/launcher.ts";
import { spawnHere } from "./own-spawn.ts";
import { startProgramsBy } from "./spawn.ts";

/** From now on a small process starts all programs of this one, whose fork would stop it. */
export function startProgramsApart(options: Pick<LauncherOptions, "warn">): void {
  let making: Promise<Launcher> | undefined;
  startProgramsBy(async (request) => {
    making ??= import("./launcher/launcher.ts").then(({ launcher }) =>
      launcher({ ...options, otherwise: spawnHere, temporaryFolder: tmpdir() }),
    );
    return (await making).start(request);
  });
}
