import { firstFile, has, type LanguageRule, LISTEN_HOST, MADE_FOLDER } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";
import { textAt, tomlOf, valueAt } from "./toml.ts";

export const RUST_FILES = ["Cargo.toml"];

/** `cargo install` writes only the programs into the folder; build files stay in the cache. */
export const rustProject: LanguageRule = (facts) => {
  if (!has(facts, "Cargo.toml")) return undefined;
  const manifest = tomlOf(facts, "Cargo.toml");
  const program = programOf(facts, manifest);
  const locked = has(facts, "Cargo.lock") ? ["--locked"] : [];
  const build = argvStep("build", ["cargo", "install", "--path", ".", "--root", MADE_FOLDER, ...locked]);
  const isRocket = valueAt(manifest, "dependencies", "rocket") !== undefined;
  return {
    language: "rust",
    title: "Rust",
    version: undefined,
    programs: ["cargo"],
    steps: program === undefined ? [] : [build],
    start: program === undefined ? undefined : `./${MADE_FOLDER}/bin/${program}`,
    help: { looked: "src/main.rs or a [[bin]] in its Cargo.toml", example: "./.berth/bin/web" },
    bins: [],
    env: isRocket ? { ROCKET_ADDRESS: LISTEN_HOST, ROCKET_PORT: "$PORT" } : {},
    warnings: [],
  };
};

/** The default program, the first one listed, or the package's own. A workspace has none. */
function programOf(facts: SourceFacts, manifest: ReturnType<typeof tomlOf>): string | undefined {
  const own = firstFile(facts, ["src/main.rs"]) === undefined ? undefined : textAt(manifest, "package", "name");
  const name = textAt(manifest, "package", "default-run") ?? textAt(manifest, "bin", "0", "name") ?? own;
  return name !== undefined && /^[\w-]{1,100}$/.test(name) ? name : undefined;
}
