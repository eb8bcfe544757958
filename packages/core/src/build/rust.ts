import { firstFile, has, type LanguageRule, LISTEN_HOST, MADE_FOLDER } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";
import { textAt, tomlOf, valueAt } from "./toml.ts";

export const RUST_FILES = ["Cargo.toml"];

/** Manifest of a member of a workspace: `api/Cargo.toml`. */
export const isRustMember = (path: string): boolean => /^\w[\w-]*\/Cargo\.toml$/.test(path);

/** `cargo install` writes only the programs into the folder; build files stay in the cache. */
export const rustProject: LanguageRule = (facts) => {
  if (!has(facts, "Cargo.toml")) return undefined;
  const workspace = tomlOf(facts, "Cargo.toml");
  const folder = valueAt(workspace, "package") === undefined ? onlyMember(facts) : ".";
  const manifest = folder === "." ? workspace : tomlOf(facts, `${folder}/Cargo.toml`);
  const program = folder === undefined ? undefined : programOf(facts, manifest, folder);
  const locked = has(facts, "Cargo.lock") ? ["--locked"] : [];
  const build = argvStep("build", ["cargo", "install", "--path", folder ?? ".", "--root", MADE_FOLDER, ...locked]);
  const isRocket = valueAt(manifest, "dependencies", "rocket") !== undefined;
  return {
    language: "rust",
    title: "Rust",
    version: undefined,
    programs: ["cargo"],
    steps: program === undefined ? [] : [build],
    start: program === undefined ? undefined : `./${MADE_FOLDER}/bin/${program}`,
    help: {
      looked: "src/main.rs or a [[bin]] in its Cargo.toml, or one program in its workspace",
      example: "./.berth/bin/web",
    },
    bins: [],
    env: isRocket ? { ROCKET_ADDRESS: LISTEN_HOST, ROCKET_PORT: "$PORT" } : {},
    warnings: [],
  };
};

/** The only member of a workspace that has a program; a workspace without a package has none of its own. */
function onlyMember(facts: SourceFacts): string | undefined {
  const members = facts.files.flatMap((path) => /^(\w[\w-]*)\/src\/main\.rs$/.exec(path)?.[1] ?? []);
  return members.length === 1 ? members[0] : undefined;
}

/** The default program, the first one listed, or the package's own. */
function programOf(facts: SourceFacts, manifest: ReturnType<typeof tomlOf>, folder: string): string | undefined {
  const main = folder === "." ? "src/main.rs" : `${folder}/src/main.rs`;
  const own = firstFile(facts, [main]) === undefined ? undefined : textAt(manifest, "package", "name");
  const name = textAt(manifest, "package", "default-run") ?? textAt(manifest, "bin", "0", "name") ?? own;
  return name !== undefined && /^[\w-]{1,100}$/.test(name) ? name : undefined;
}
