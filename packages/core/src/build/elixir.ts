import { has, type LanguageRule, lineMatch, textOf, versionIn, wholeText } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";

export const ELIXIR_FILES = ["mix.exs", ".elixir-version"];

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
      ...(/["']assets\.deploy["']/.test(mix) ? [step("build", "assets.deploy")] : []),
      step("build", "release", "--overwrite"),
    ],
    early: needsHex && readsNoFile(facts) ? { files: ["mix.exs", "mix.lock"], steps: installs } : undefined,
    start: app === undefined ? undefined : `_build/prod/rel/${app}/bin/${app} start`,
    help: { looked: "an `app:` in its mix.exs", example: "mix run --no-halt" },
    bins: [],
    // Without containers, all releases of a machine share one table of node names, the previous release among them.
    env: { MIX_ENV: "prod", PHX_SERVER: "true", ...(app === undefined ? {} : { RELEASE_NODE: `${app}_$PORT` }) },
    warnings: isPhoenix ? ["Phoenix needs the variable SECRET_KEY_BASE, and PHX_HOST for its links"] : [],
  };
};

/** Its manifest is a program: it may read a version from a file, or name dependencies in folders. */
function readsNoFile(facts: SourceFacts): boolean {
  const mix = wholeText(facts, "mix.exs");
  if (mix === undefined || has(facts, "deps/") || has(facts, "_build/")) return false;
  return !/\b(File|Code|System|Path|IO|Application)\.|\bpath:|\b(in_umbrella|apps_path|config_path):|__DIR__|~x|:os\b/.test(
    mix,
  );
}
