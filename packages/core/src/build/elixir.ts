import { has, type LanguageProject, type LanguageRule, lineMatch, textOf, versionIn, wholeText } from "./language.ts";
import { argvStep, type BuildStep, type SourceFacts } from "./plan.ts";

/** Its configuration while it is compiled; dependencies may read it too. */
const CONFIG_FILES = ["config/config.exs", "config/prod.exs"];

export const ELIXIR_FILES = ["mix.exs", ".elixir-version", ...CONFIG_FILES];

/** Builds a Mix release, which runs without Mix. */
export const elixirProject: LanguageRule = (facts) => {
  if (!has(facts, "mix.exs")) return undefined;
  const mix = textOf(facts, "mix.exs");
  const app = lineMatch(mix, /^app:\s*:([a-z]\w{0,60})\s*,?/)?.[1];
  const isPhoenix = /\{\s*:phoenix\s*,/.test(mix);
  const env = { MIX_ENV: "prod" };
  const step = (name: "install" | "build", ...args: readonly string[]) => argvStep(name, ["mix", ...args], env);
  const installs = [
    step("install", "local.hex", "--force", "--if-missing"),
    step("install", "local.rebar", "--force", "--if-missing"),
    step("install", "deps.get", "--only", "prod"),
  ];
  // Hex is fetched from its own site, which a project without dependencies has no need to reach.
  const needsHex = /\b(deps|apps_path)\b/.test(mix);
  return {
    language: "elixir",
    title: isPhoenix ? "Elixir, Phoenix" : "Elixir",
    version: versionIn(textOf(facts, ".elixir-version")),
    programs: ["mix"],
    steps: [
      ...(needsHex ? installs : []),
      // Assets may import what the compiler extracts from the sources: `phoenix-colocated/shop`.
      ...(/["']assets\.deploy["']/.test(mix) ? [step("build", "compile"), step("build", "assets.deploy")] : []),
      step("build", "release", "--overwrite"),
    ],
    early: needsHex && readsNoFile(facts) ? earlyPart(facts, installs, step("install", "deps.compile")) : undefined,
    start: app === undefined ? undefined : `_build/prod/rel/${app}/bin/${app} start`,
    help: { looked: "an `app:` in its mix.exs", example: "mix run --no-halt" },
    bins: [],
    // Without containers, all releases of a machine share one table of node names, the previous release among them.
    env: { MIX_ENV: "prod", PHX_SERVER: "true", ...(app === undefined ? {} : { RELEASE_NODE: `${app}_$PORT` }) },
    warnings: isPhoenix ? ["Phoenix needs the variable SECRET_KEY_BASE, and PHX_HOST for its links"] : [],
  };
};

/** `mix release` compiles only those dependencies that are not compiled yet. */
function earlyPart(facts: SourceFacts, installs: readonly BuildStep[], compile: BuildStep): LanguageProject["early"] {
  const files = ["mix.exs", "mix.lock"];
  return isConfigKnown(facts)
    ? { files: [...files, ...CONFIG_FILES], steps: [...installs, compile] }
    : { files, steps: installs };
}

/** Whether its configuration reads no file but those that are copied. Without a slash behind it, `config` is a link. */
function isConfigKnown(facts: SourceFacts): boolean {
  if (!has(facts, "config/")) return !has(facts, "config");
  const [config, ofEnvironment] = CONFIG_FILES.map((file) => wholeText(facts, file));
  if (config === undefined || !isPlainConfig(config)) return false;
  return ofEnvironment === undefined ? !config.includes("import_config") : isPlainConfig(ofEnvironment);
}

/** Its manifest is a program: it may read a version from a file, or name dependencies in folders. */
function readsNoFile(facts: SourceFacts): boolean {
  const mix = wholeText(facts, "mix.exs");
  if (mix === undefined || has(facts, "deps/") || has(facts, "_build/")) return false;
  return !(
    READS_FILES.test(mix) ||
    /\b(System|Path|Application)\.|\bpath:|\b(in_umbrella|apps_path|config_path):|__DIR__/.test(mix) ||
    /["']deps\.\w+["']:/.test(mix)
  );
}

/** It may name paths and read variables, as each of Phoenix does. */
const isPlainConfig = (text: string): boolean =>
  !READS_FILES.test(text) &&
  !/\bSystem\.(cmd|shell|find_executable)\b/.test(text) &&
  text.split("\n").every((line) => !line.includes("import_config") || IMPORTS_OWN.test(line.trim()));

const READS_FILES = /\b(File|Code|IO)\.|~x|:(os|file)\b/;

/** `import_config "#{config_env()}.exs"`, or a comment. */
const IMPORTS_OWN = /^(#|import_config\s?\(?"(#\{(config_env\(\)|Mix\.env(\(\))?)\}|prod)\.exs"\)?$)/;
