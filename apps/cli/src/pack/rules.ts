import ignore, { type Ignore } from "ignore";

/** Rules of one folder's ignore files. Paths are relative to the uploaded folder. */
export interface Rules {
  /** @param path Path of a file, or of a folder with a slash at its end. */
  judge(path: string): "ignored" | "kept" | "undecided";
}

/** Never uploaded, since they belong to the machine and not to the source. */
const NEVER = new Set([".git", ".berth", "node_modules"]);

export const isNeverUploaded = (name: string): boolean => NEVER.has(name);

/** `.env`, `.env.local` and the like, in any folder, but not the examples of them that are meant to be shared. */
export const isVariableFile = (path: string): boolean =>
  /(^|\/)\.env(\.[^/]+)?$/.test(path) && !/\.(example|sample|template|dist|defaults?)$/.test(path);

/**
 * Parses a `.gitignore` or `.berthignore`.
 *
 * @param base Folder of the ignore file, relative to the uploaded one: `""` or `packages/web`. For parents use
 * `above`.
 * @param above Path of the uploaded folder, relative to the parent folder with the ignore file: `apps/web`.
 */
export function gitRules(text: string, { base = "", above = "" } = {}): Rules {
  const matcher = ignore().add(text);
  return {
    judge: (path) => {
      const name = above === "" ? path.slice(base === "" ? 0 : base.length + 1) : `${above}/${path}`;
      return verdict(matcher, name);
    },
  };
}

/**
 * Parses a `.dockerignore`: patterns are anchored at the root, and the last one that matches a path or a parent folder
 * decides, so that a `!` line can include files of an ignored folder.
 */
export function dockerRules(text: string): Rules & { readonly hasExceptions: boolean } {
  const lines = text
    .split(/\r?\n/)
    .filter((line) => !line.startsWith("#"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== "!")
    .map((line) => {
      const isException = line.startsWith("!");
      const pattern = (isException ? line.slice(1).trim() : line).replace(/^(\.?\/)+/, "").replace(/\/+$/, "");
      // `.` matches the whole folder.
      return { isException, matcher: ignore().add(pattern === "." || pattern === "" ? "/*" : `/${pattern}`) };
    });
  return {
    hasExceptions: lines.some(({ isException }) => isException),
    judge: (path) => {
      if (DOCKER_KEEPS.test(path)) return "undecided";
      const name = path.replace(/\/$/, "");
      const last = lines.findLast(({ matcher }) => matcher.ignores(name) || matcher.ignores(`${name}/`));
      if (last === undefined) return "undecided";
      return last.isException ? "kept" : "ignored";
    },
  };
}

/** Build files are uploaded even if `.dockerignore` excludes them, as in `docker build`. */
const DOCKER_KEEPS =
  /(^|\/)(Dockerfile(\.[^/]*)?|[^/]+\.Dockerfile|\.dockerignore|(docker-)?compose[^/]*\.ya?ml|Procfile|nixpacks\.toml|railpack\.json)$/i;

function verdict(matcher: Ignore, name: string): ReturnType<Rules["judge"]> {
  const { ignored, unignored } = matcher.test(name);
  if (ignored) return "ignored";
  return unignored ? "kept" : "undecided";
}
