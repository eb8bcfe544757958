import { FILE_DEPTH, findPlan, isRead, sourceFacts, unrecognised } from "@berth/core/build";
import type { Folder } from "./folder.ts";

export interface Recognised {
  /** `undefined`: nothing says how to start it. */
  readonly detected: string | undefined;
  /** What is run, in its order. */
  readonly commands: readonly string[];
  /** Warnings, other ways, or why nothing is recognised. */
  readonly notes: readonly string[];
}

/** What the server will make of the folder, unless the settings say otherwise. @throws Error for a broken manifest */
export async function recognise({ files }: Folder): Promise<Recognised> {
  const near = files.filter(({ path }) => path.split("/").length <= FILE_DEPTH);
  const read = near.filter(({ path }) => isRead(path));
  const texts = new Map(await Promise.all(read.map(async ({ path, file }) => [path, await file.text()] as const)));
  const facts = sourceFacts({ paths: near.map(({ path }) => path), texts, missingPrograms: [] });
  const plan = findPlan(facts, CONFIG);
  if (plan === undefined) return { detected: undefined, commands: [], notes: [unrecognised(facts, CONFIG).message] };
  // A start of several lines is a program of Berth's own, which tells nobody anything.
  const start = plan.run.type === "shell" ? /(?:^|\n)exec (.+)$/.exec(plan.run.script)?.[1] : undefined;
  return {
    detected: plan.detected,
    commands: [...plan.steps.map(({ shown }) => shown), ...(start === undefined ? [] : [start])],
    notes: [...plan.warnings, ...plan.notes],
  };
}

const CONFIG = {
  build_pack: "nixpacks",
  base_directory: "/",
  publish_directory: null,
  install_command: null,
  build_command: null,
  start_command: null,
  is_static: false,
  is_spa: false,
} as const;
