import type { Argv } from "../argv.ts";
import type { BuildConfig } from "../deploy/artifact.ts";
import type { PackageJson } from "./package-json.ts";

/** Facts about the checked-out source, read before anything runs. */
export interface SourceFacts {
  /** Names in the base directory; those of folders end with `/`. */
  readonly entries: readonly string[];
  /** Paths of files below the base directory, as deep as rules look. */
  readonly files: readonly string[];
  /** First bytes of the files that rules read, by path. */
  readonly texts: ReadonlyMap<string, string>;
  readonly packageJson: PackageJson | undefined;
  /** Content of the Procfile. */
  readonly procfile: string | undefined;
  /** The folder with the lockfile: the base directory, or the workspace above it. */
  readonly workspace: WorkspaceFacts;
  /** Whether the Next.js configuration asks for a static export. */
  readonly isNextExport: boolean;
  /** Programs that the server lacks. Empty if an image provides them. */
  readonly missingPrograms: readonly string[];
}

export interface WorkspaceFacts {
  /** Number of folders between the base directory and the lockfile's; 0 when they are the same. */
  readonly levelsUp: number;
  /** Names of the lockfiles in that folder. */
  readonly lockfiles: readonly string[];
  readonly packageManager: PackageJson["packageManager"];
  readonly yarnLock: "classic" | "berry" | undefined;
  /** The Yarn release that is checked into the repository, relative to the base directory. */
  readonly yarnPath: string | undefined;
  /** Major version of the pnpm lockfile: 9 for `lockfileVersion: '9.0'`. */
  readonly pnpmLockMajor: number | undefined;
  /** Whether package.json has the key `pnpm`, where older versions look for settings. */
  readonly hasPnpmSettings: boolean;
  /** Whether the repository states which dependencies may run install scripts. */
  readonly hasPnpmBuildRules: boolean;
}

/** Settings that determine a plan. */
export type PlanConfig = Pick<
  BuildConfig,
  | "build_pack"
  | "base_directory"
  | "publish_directory"
  | "install_command"
  | "build_command"
  | "start_command"
  | "is_static"
  | "is_spa"
>;

/** Plan of a build, decided before it begins. */
export interface BuildPlan {
  /** Name of what was detected, for the log: `Next.js (pnpm)`. */
  readonly detected: string;
  /** Runtime of its steps and its start; `undefined` for plain files and commands. */
  readonly runtime: PlannedRuntime | undefined;
  readonly steps: readonly BuildStep[];
  /** How an image installs before it has the whole source; `undefined` where that is not safe. */
  readonly early: EarlyInstall | undefined;
  readonly run: PlannedRun;
  /** Log lines about probable mistakes. */
  readonly warnings: readonly string[];
  /** Log lines about other ways to build it. */
  readonly notes: readonly string[];
}

/** An installation in two parts, so that an image keeps the first one while manifests and lockfiles do not change. */
export interface EarlyInstall {
  /** Paths, below the base directory, of all files that the first part reads. */
  readonly files: readonly string[];
  readonly steps: readonly BuildStep[];
  /** What runs once all files are there, in place of the plan's steps. */
  readonly later: readonly BuildStep[];
}

export type Language = "bun" | "deno" | "elixir" | "go" | "java" | "node" | "php" | "python" | "ruby" | "rust";

/** What an image must contain. */
export interface PlannedRuntime {
  readonly language: Language;
  /** Version that the project requires: `3.12`, or a range for Node. */
  readonly version: string | undefined;
  /** Whether Node is needed beside the language, for assets or a command. */
  readonly needsNode: boolean;
  /** Extensions of PHP. */
  readonly extensions: readonly string[];
}

export interface BuildStep {
  readonly name: "install" | "build";
  /** The program with its arguments. A user's command is a single argument of the shell. */
  readonly argv: Argv;
  /** The command as a person would type it. */
  readonly shown: string;
  /** Whether `node_modules/.bin` is added to PATH. */
  readonly usesBins: boolean;
  /** Variables of this step only. */
  readonly env: Readonly<Record<string, string>>;
}

export type PlannedRun =
  | { readonly type: "shell"; readonly script: string }
  | {
      readonly type: "static";
      /** Candidates: the first with an index.html after the build is served. `*` matches any one folder. */
      readonly folders: readonly string[];
      /** The user chose the folder, so it is served even without an index.html. */
      readonly isExplicit: boolean;
      readonly isSpa: boolean;
    };

/** @param text Command line of a user, for the shell. */
export const scriptStep = (name: BuildStep["name"], text: string): BuildStep => ({
  name,
  argv: ["/bin/sh", "-c", text],
  shown: text,
  usesBins: true,
  env: {},
});

export const argvStep = (
  name: BuildStep["name"],
  argv: Argv,
  env: Readonly<Record<string, string>> = {},
): BuildStep => ({
  name,
  argv,
  shown: argv.join(" "),
  // Package managers add `.bin` for scripts, and must not themselves be taken from there.
  usesBins: false,
  env,
});
