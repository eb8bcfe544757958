import { firstFile, has, isPage, type LanguageRule, MADE_FOLDER, textOf, wholeText } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";

export const GO_FILES = ["go.mod"];

export const goProject: LanguageRule = (facts) => {
  const isModule = has(facts, "go.mod");
  if (!isModule && (!has(facts, "main.go") || isPage(facts))) return undefined;
  const main = isModule ? mainPackage(facts) : "main.go";
  const program = `${MADE_FOLDER}/app`;
  const download = isModule && !has(facts, "vendor/") ? [argvStep("install", ["go", "mod", "download"])] : [];
  const build = argvStep("build", ["go", "build", "-ldflags=-s -w", "-o", program, main ?? "."]);
  return {
    language: "go",
    title: "Go",
    version: undefined,
    programs: ["go"],
    steps: main === undefined ? download : [...download, build],
    early: isAlone(facts) ? { files: ["go.mod", "go.sum"], steps: download } : undefined,
    start: main === undefined ? undefined : `./${program}`,
    help: { looked: "main.go, or one program in cmd/", example: "go run ./cmd/web" },
    bins: [],
    env: {},
    warnings: [],
  };
};

/** Whether its modules are found by go.mod alone: a replacement by a folder, and a workspace, have files of their own. */
function isAlone(facts: SourceFacts): boolean {
  const manifest = wholeText(facts, "go.mod");
  return manifest !== undefined && !has(facts, "go.work") && !/=>\s*["'`]?[./~]/.test(manifest);
}

/** Program of the base directory, the only one in `cmd`, or one with a common server name. */
function mainPackage(facts: SourceFacts): string | undefined {
  if (firstFile(facts, ["main.go"]) !== undefined) return ".";
  const programs = facts.files.flatMap((path) => /^cmd\/([\w.-]+)\/main\.go$/.exec(path)?.[1] ?? []);
  const module = /^module\s+(\S{1,200})/m.exec(textOf(facts, "go.mod"))?.[1]?.split("/").at(-1);
  const named = [module, "server", "web", "api", "app"].find((name) => name !== undefined && programs.includes(name));
  const only = programs.length === 1 ? programs[0] : named;
  if (only !== undefined) return `./cmd/${only}`;
  if (firstFile(facts, ["cmd/main.go"]) !== undefined) return "./cmd";
  const isFlat = facts.entries.some((name) => name.endsWith(".go") && !name.endsWith("_test.go"));
  return isFlat && programs.length === 0 ? "." : undefined;
}
