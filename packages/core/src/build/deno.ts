import { firstFile, has, type LanguageRule, textOf } from "./language.ts";
import { type SourceFacts, scriptStep } from "./plan.ts";

const CONFIGS = ["deno.json", "deno.jsonc"];
export const DENO_FILES = CONFIGS;

const MAIN_FILES = ["main.ts", "server.ts", "index.ts", "app.ts", "mod.ts", "main.tsx", "main.js", "src/main.ts"];

/** Downloads are kept with the application, so that it starts without a network. */
export const denoProject: LanguageRule = (facts) => {
  const config = firstFile(facts, CONFIGS);
  if (config === undefined && !has(facts, "deno.lock")) return undefined;
  const main = firstFile(facts, MAIN_FILES);
  const cache = 'export DENO_DIR="$PWD/.deno"';
  const install = { ...scriptStep("install", `${cache} && deno cache ${main}`), shown: `deno cache ${main}` };
  const build = { ...scriptStep("build", `${cache} && deno task build`), shown: "deno task build" };
  return {
    language: "deno",
    title: "Deno",
    version: undefined,
    programs: ["deno"],
    steps: [...(main === undefined ? [] : [install]), ...(hasTask(facts, config, "build") ? [build] : [])],
    start: startOf(facts, config, main),
    help: { looked: "a task `start` in its deno.json, no main.ts and no server.ts", example: "deno run -A main.ts" },
    bins: [],
    env: { DENO_DIR: "$PWD/.deno" },
    warnings: [],
  };
};

function startOf(facts: SourceFacts, config: string | undefined, main: string | undefined): string | undefined {
  if (hasTask(facts, config, "start")) return "deno task start";
  // Permissions add nothing: the engine isolates the process as it does for every language.
  return main === undefined ? undefined : `deno run --allow-all ${main}`;
}

/** The file may have comments, so it is not parsed. */
function hasTask(facts: SourceFacts, config: string | undefined, task: string): boolean {
  const text = config === undefined ? "" : textOf(facts, config);
  const at = text.indexOf('"tasks"');
  if (at === -1) return false;
  const [tasks = ""] = text.slice(at, at + TASKS_LENGTH_MAX).split("}", 1);
  return tasks.includes(`"${task}"`);
}

const TASKS_LENGTH_MAX = 10_000;
