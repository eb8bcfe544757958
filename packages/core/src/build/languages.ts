import { DENO_FILES, denoProject } from "./deno.ts";
import { ELIXIR_FILES, elixirProject } from "./elixir.ts";
import { GO_FILES, goProject } from "./go.ts";
import { isGradleModule, JAVA_FILES, javaProject } from "./java.ts";
import type { LanguageProject, LanguageRule } from "./language.ts";
import { PHP_FILES, phpProject } from "./php.ts";
import type { SourceFacts } from "./plan.ts";
import { isPackageFile, PYTHON_FILES, pythonProject } from "./python.ts";
import { RUBY_FILES, rubyProject } from "./ruby.ts";
import { isRustMember, RUST_FILES, rustProject } from "./rust.ts";

/** Languages that often only assist another one come last. */
const RULES: readonly LanguageRule[] = [
  phpProject,
  rubyProject,
  elixirProject,
  goProject,
  rustProject,
  javaProject,
  pythonProject,
  denoProject,
];

/** Language of a project without Node: the first with a start command, else the first that matches. */
export function languageOf(facts: SourceFacts): LanguageProject | undefined {
  const found = RULES.flatMap((rule) => rule(facts) ?? []);
  return found.find(({ start }) => start !== undefined) ?? found[0];
}

const READ = new Set([
  ...["package.json", "Procfile", "yarn.lock", "pnpm-lock.yaml", ".yarnrc.yml", "pnpm-workspace.yaml"],
  ...["next.config.js", "next.config.mjs", "next.config.ts", "next.config.cjs"],
  ...[PYTHON_FILES, GO_FILES, RUBY_FILES, PHP_FILES, RUST_FILES, ELIXIR_FILES, JAVA_FILES, DENO_FILES].flat(),
]);

/** Whether rules read the content of this file. */
export const isRead = (path: string): boolean =>
  READ.has(path) ||
  /^[A-Za-z_]\w*\/settings\.py$/.test(path) ||
  isPackageFile(path) ||
  isRustMember(path) ||
  isGradleModule(path);

/** Depth of folders in which rules look for files. */
export const FILE_DEPTH = 3;
