import { firstFile, has, type LanguageRule, LISTEN_HOST, MADE_FOLDER, textOf } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";

export const RUST_FILES = ["Cargo.toml"];

/** `cargo install` writes only the programs into the folder; build files stay in the cache. */
export const rustProject: LanguageRule = (facts) => {
  if (!has(facts, "Cargo.toml")) return undefined;
  const program = programOf(facts);
  const locked = has(facts, "Cargo.lock") ? ["--locked"] : [];
  const build = argvStep("build", ["cargo", "install", "--path", ".", "--root", MADE_FOLDER, ...locked]);
  const isRocket = /^rocket\s*=/m.test(textOf(facts, "Cargo.toml"));
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

/** The default program, the only one listed, or the package's own. A workspace has none. */
function programOf(facts: SourceFacts): string | undefined {
  const manifest = textOf(facts, "Cargo.toml");
  const chosen = nameIn(manifest, "default-run", "[package]");
  if (chosen !== undefined) return chosen;
  const named = nameIn(manifest, "name", "[[bin]]");
  if (named !== undefined) return named;
  return firstFile(facts, ["src/main.rs"]) === undefined ? undefined : nameIn(manifest, "name", "[package]");
}

/** Reads an unquoted key of one table of a TOML file. */
function nameIn(toml: string, key: string, table: string): string | undefined {
  let isInside = false;
  for (const line of toml.split("\n")) {
    const text = line.trim();
    if (text.startsWith("[")) isInside = text.startsWith(table);
    const [, found, value] = /^([\w-]{1,40})\s*=\s*["']([\w-]{1,100})["']/.exec(text) ?? [];
    if (isInside && found === key) return value;
  }
  return undefined;
}
