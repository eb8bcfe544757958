import { DomainError } from "@berth/core";
import type { BuildConfig } from "@berth/core/deploy";
import { detectPlan } from "./detect.ts";
import { parsePackageJson } from "./package-json.ts";
import type { BuildPlan, SourceFacts, WorkspaceFacts } from "./plan.ts";

/** Settings of an application without any build settings. */
export const CONFIG: BuildConfig = {
  build_pack: "nixpacks",
  base_directory: "/",
  publish_directory: null,
  install_command: null,
  build_command: null,
  start_command: null,
  is_static: false,
  is_spa: false,
  dockerfile: null,
  dockerfile_location: null,
  dockerfile_target_build: null,
  docker_registry_image_name: null,
  docker_registry_image_tag: null,
  static_image: "nginx:alpine",
  custom_nginx_configuration: null,
  ports_exposes: null,
};

export interface Given {
  readonly entries?: readonly string[];
  readonly packageJson?: Record<string, unknown>;
  readonly procfile?: string;
  readonly workspace?: Partial<WorkspaceFacts>;
  readonly isNextExport?: boolean;
  readonly hasPython?: boolean;
  readonly config?: Partial<BuildConfig>;
}

const LOCKS = ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"];

export function planOf({
  entries = [],
  packageJson,
  procfile,
  workspace,
  isNextExport,
  hasPython,
  config,
}: Given): BuildPlan {
  const parsed = packageJson === undefined ? undefined : parsePackageJson(JSON.stringify(packageJson));
  const facts: SourceFacts = {
    entries: [...entries, ...(packageJson === undefined ? [] : ["package.json"])],
    packageJson: parsed,
    procfile,
    workspace: {
      levelsUp: 0,
      lockfiles: entries.filter((name) => LOCKS.includes(name)),
      packageManager: parsed?.packageManager,
      yarnLock: entries.includes("yarn.lock") ? "classic" : undefined,
      yarnPath: undefined,
      pnpmLockMajor: entries.includes("pnpm-lock.yaml") ? 9 : undefined,
      hasPnpmSettings: false,
      hasPnpmBuildRules: false,
      ...workspace,
    },
    isNextExport: isNextExport ?? false,
    hasPython: hasPython ?? true,
  };
  return detectPlan(facts, { ...CONFIG, ...config });
}

/** A plan in one line, short enough for a table. */
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
