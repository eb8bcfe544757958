import type { BuildConfig } from "../deploy/artifact.ts";
import { DomainError } from "../errors.ts";
import { BUILD_CONFIG } from "./config.fixture.ts";
import { detectPlan } from "./detect.ts";
import { sourceFacts } from "./facts.ts";
import type { BuildPlan, WorkspaceFacts } from "./plan.ts";

export interface Given {
  /** Paths of files, and of folders with a `/` behind them. */
  readonly entries?: readonly string[];
  /** Files with a text. */
  readonly files?: Readonly<Record<string, string>>;
  readonly packageJson?: Record<string, unknown>;
  readonly procfile?: string;
  readonly workspace?: Partial<WorkspaceFacts>;
  readonly missingPrograms?: readonly string[];
  readonly config?: Partial<BuildConfig>;
}

export function planOf(given: Given): BuildPlan {
  const { entries = [], packageJson, procfile, workspace, config, missingPrograms = [] } = given;
  const texts = new Map([
    ...Object.entries(given.files ?? {}),
    ...(packageJson === undefined ? [] : [["package.json", JSON.stringify(packageJson)] as const]),
    ...(procfile === undefined ? [] : [["Procfile", procfile] as const]),
  ]);
  const facts = sourceFacts({ paths: [...new Set([...entries, ...texts.keys()])], texts, missingPrograms });
  const usual = entries.includes("pnpm-lock.yaml") ? { pnpmLockMajor: 9 } : {};
  const found = { ...facts, workspace: { ...facts.workspace, ...usual, ...workspace } };
  return detectPlan(found, { ...BUILD_CONFIG, ...config });
}

/** Summary of a plan, short enough for a table. */
export function summary(given: Given): string {
  const { detected, steps, run } = planOf(given);
  const how =
    run.type === "shell"
      ? (run.script.split("\n").at(-1) ?? "")
      : `serve ${run.folders.join("|")}${run.isSpa ? " (spa)" : ""}${run.isExplicit ? " !" : ""}`;
  return [detected, ...steps.map(({ shown }) => shown), how].join(" > ");
}

export function refusal(given: Given): string {
  try {
    return `planned ${summary(given)}`;
  } catch (error) {
    if (error instanceof DomainError) return `${error.code} ${error.message}`;
    throw error;
  }
}

export const app = (fields: Record<string, unknown> = {}) => ({
  dependencies: { express: "5" },
  scripts: { start: "node server.js" },
  ...fields,
});
