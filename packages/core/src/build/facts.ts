import { type PackageJson, parsePackageJson } from "./package-json.ts";
import type { SourceFacts, WorkspaceFacts } from "./plan.ts";

export const LOCKFILES = [
  "package-lock.json",
  "npm-shrinkwrap.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "bun.lockb",
];

/** Files of a folder; an engine, the CLI and the dashboard each read them in their own way. */
export interface SourceListing {
  /** Paths of files and folders; those of folders end with `/`. */
  readonly paths: readonly string[];
  /** Contents of the files for which `isRead` is true, by path. */
  readonly texts: ReadonlyMap<string, string>;
  readonly missingPrograms: readonly string[];
}

/** @param workspace Folder with the lockfile; default: the folder itself. */
export function sourceFacts({ paths, texts, missingPrograms }: SourceListing, workspace?: WorkspaceFacts): SourceFacts {
  const text = texts.get("package.json");
  const packageJson = text === undefined ? undefined : parsePackageJson(text);
  const nextConfig = [...texts].filter(([path]) => path.startsWith("next.config."));
  const files = paths.filter((path) => !path.endsWith("/"));
  const entries = [...new Set(paths.map((path) => (path.includes("/") ? `${path.split("/", 1)[0]}/` : path)))];
  const lockfiles = entries.filter((name) => LOCKFILES.includes(name));
  return {
    entries,
    files,
    texts,
    packageJson,
    procfile: texts.get("Procfile"),
    workspace: workspace ?? workspaceFacts({ levelsUp: 0, lockfiles, texts, own: packageJson, base: packageJson }),
    isNextExport: nextConfig.some(([, config]) => /\boutput\s*:\s*["'`]export["'`]/.test(config)),
    missingPrograms,
  };
}

/** Facts about package managers from the folder with the lockfiles. */
export function workspaceFacts(at: {
  readonly levelsUp: number;
  readonly lockfiles: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
  /** Its package.json, and that of the base directory. */
  readonly own: PackageJson | undefined;
  readonly base: PackageJson | undefined;
}): WorkspaceFacts {
  const { levelsUp, lockfiles, texts, own, base } = at;
  const yarnLock = texts.get("yarn.lock");
  const yarnPath = /^yarnPath:\s*["']?([^"'\s]+)["']?\s*$/m.exec(texts.get(".yarnrc.yml") ?? "")?.[1];
  const major = /^lockfileVersion:\s*["']?(\d+)/m.exec(texts.get("pnpm-lock.yaml") ?? "")?.[1];
  return {
    levelsUp,
    lockfiles,
    packageManager: base?.packageManager ?? own?.packageManager,
    yarnLock: yarnLock === undefined ? undefined : /^__metadata:/m.test(yarnLock) ? "berry" : "classic",
    yarnPath: yarnPath === undefined ? undefined : `${"../".repeat(levelsUp)}${yarnPath.replace(/^\.\//, "")}`,
    pnpmLockMajor: major === undefined ? undefined : Number(major),
    hasPnpmSettings: own?.hasPnpmSettings === true,
    hasPnpmBuildRules: own?.hasPnpmSettings === true || PNPM_BUILD_RULES.test(texts.get("pnpm-workspace.yaml") ?? ""),
  };
}

const PNPM_BUILD_RULES =
  /^(onlyBuiltDependencies|onlyBuiltDependenciesFile|neverBuiltDependencies|ignoredBuiltDependencies|allowBuilds|strictDepBuilds|dangerouslyAllowAllBuilds)\s*:/m;
