import type { Argv } from "../argv.ts";
import type { BuildConfig } from "../deploy/artifact.ts";
import type { PackageJson } from "./package-json.ts";

/** Facts about the checked-out source, read before anything runs. */
export interface SourceFacts {
  /** Names in the base directory; a folder's ends with `/`. */
  readonly entries: readonly string[];
  /** Paths of the files of the base directory, those in its folders included as far as rules ask for them. */
  readonly files: readonly string[];
  /** Beginnings of the files that rules read, by their paths. */
  readonly texts: ReadonlyMap<string, string>;
  readonly packageJson: PackageJson | undefined;
  /** Text of the Procfile. */
  readonly procfile: string | undefined;
  /** Where the lockfile lies: the base directory, or the workspace above that it is a part of. */
  readonly workspace: WorkspaceFacts;
  /** Whether the configuration of Next.js asks for static files. */
  readonly isNextExport: boolean;
  /** Programs that the server lacks. None where an image brings them along. */
  readonly missingPrograms: readonly string[];
}

export interface WorkspaceFacts {
  /** Folders to go up from the base directory. 0: the base directory itself. */
  readonly levelsUp: number;
  /** Names of the lockfiles there. */
  readonly lockfiles: readonly string[];
  readonly packageManager: PackageJson["packageManager"];
  readonly yarnLock: "classic" | "berry" | undefined;
  /** The release of yarn that the repository brings along, relative to the base directory. */
  readonly yarnPath: string | undefined;
  /** `9` of `lockfileVersion: '9.0'`. */
  readonly pnpmLockMajor: number | undefined;
  /** Whether package.json has the key `pnpm`, where older versions look for settings. */
  readonly hasPnpmSettings: boolean;
  /** Whether the repository says itself which dependencies may run scripts when they are installed. */
  readonly hasPnpmBuildRules: boolean;
}

/** The settings that a plan is decided by. */
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
  /** For people: `Next.js (pnpm)`. */
  readonly detected: string;
  /** What its steps and its start run on; `undefined` for plain files and commands. */
  readonly runtime: PlannedRuntime | undefined;
  readonly steps: readonly BuildStep[];
  readonly run: PlannedRun;
  /** Lines for the log, for what is probably not meant so. */
  readonly warnings: readonly string[];
  /** Lines for the log about other ways to build it. */
  readonly notes: readonly string[];
}

export type Language = "bun" | "deno" | "elixir" | "go" | "java" | "node" | "php" | "python" | "ruby" | "rust";

/** What an image needs to have, where the machine's own programs do not count. */
export interface PlannedRuntime {
  readonly language: Language;
  /** As the project asks for it: `3.12`, or a range of Node. */
  readonly version: string | undefined;
  /** Node's programs beside those of the language, for assets or a command. */
  readonly needsNode: boolean;
  /** Extensions of PHP. */
  readonly extensions: readonly string[];
}

export interface BuildStep {
  readonly name: "install" | "build";
  /** A user's own text is one argument of the shell of the application's user. */
  readonly argv: Argv;
  /** The command as a person would write it. */
  readonly shown: string;
  /** Whether programs that the dependencies bring along are found by their name. */
  readonly usesBins: boolean;
  /** Beside the environment of every step. */
  readonly env: Readonly<Record<string, string>>;
}

export type PlannedRun =
  | { readonly type: "shell"; readonly script: string }
  | {
      readonly type: "static";
      /** The first that has an index.html after the build is served; `*` stands for any one folder. */
      readonly folders: readonly string[];
      /** The user named the folder: it is served with or without an index.html. */
      readonly isExplicit: boolean;
      readonly isSpa: boolean;
    };

/** @param text Of a user, for the shell. */
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
  // Package managers put them there themselves, and must not be taken from there.
  usesBins: false,
  env,
});
