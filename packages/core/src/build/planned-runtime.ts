import type { LanguageProject } from "./language.ts";
import type { PackageManager } from "./node-project.ts";
import type { PlannedRuntime, SourceFacts } from "./plan.ts";

/** Runtime image of a plan: another language wins over Node. */
export function plannedRuntime(parts: {
  readonly facts: SourceFacts;
  readonly manager: PackageManager | undefined;
  readonly language: LanguageProject | undefined;
}): PlannedRuntime | undefined {
  const { facts, manager, language } = parts;
  if (language !== undefined) {
    const { version, extensions = [] } = language;
    return { language: language.language, version, needsNode: manager !== undefined, extensions };
  }
  if (manager === undefined) return undefined;
  const isBun = manager.name === "bun";
  const version = isBun ? undefined : facts.packageJson?.enginesNode;
  return { language: isBun ? "bun" : "node", version, needsNode: false, extensions: [] };
}
