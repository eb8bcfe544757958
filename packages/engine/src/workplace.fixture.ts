import { join } from "node:path";
import type { InWorkplace } from "./builder/build-place.ts";
import { processBuilder } from "./builder/process-builder.ts";
import { type ProcessEngine, processEngine } from "./process/engine.ts";

/** Workplaces of a process engine that is opened with the first of them. @param folder The data folder. */
export function workplaces(folder: string): { readonly inWorkplace: InWorkplace; close(): Promise<void> } {
  let engine: ProcessEngine | undefined;
  return {
    inWorkplace(...given) {
      engine ??= processEngine({
        dataFolder: join(folder, "apps"),
        instanceFolder: folder,
        builder: processBuilder(),
        warn: () => undefined,
      });
      return engine.inWorkplace(...given);
    },
    close: async () => void (await engine?.close({ stopReleases: true })),
  };
}
