import { splitWords } from "../application/run-options.ts";

const COMMANDS = { build: "build", start: "up" } as const;
type CommandStep = keyof typeof COMMANDS;

/** The supported options of a custom compose command. */
export interface ComposeCommand {
  /** Compose files below the base directory, later ones override earlier ones. Empty: the configured file. */
  readonly files: readonly string[];
  /** Paths of env files, in the order of the command. */
  readonly envFiles: readonly string[];
  readonly profiles: readonly string[];
  /** Build arguments for every image; `null`: the value of the variable with this name. */
  readonly buildArgs: Readonly<Record<string, string | null>>;
  /** Build without cache. */
  readonly isForced: boolean;
  /** Pull newer base images. */
  readonly isPulled: boolean;
  /** Number of containers of each service. */
  readonly scale: Readonly<Record<string, number>>;
  /** Recreate all containers, even unchanged ones. */
  readonly isRecreated: boolean;
}

export const NO_COMMAND: ComposeCommand = {
  files: [],
  envFiles: [],
  profiles: [],
  buildArgs: {},
  isForced: false,
  isPulled: false,
  scale: {},
  isRecreated: false,
};

interface Option {
  /** Describes the value; left out for options without one. */
  readonly needs?: string;
  /** Returns `undefined` for an invalid value. */
  readonly read: (value: string, command: ComposeCommand, location: string) => ComposeCommand | undefined;
}

const FILES_MAX = 20;

/** Options for what Berth does in any case. */
const USUAL: Option = { read: (_value, command) => command };
const USUAL_WITH_VALUE: Option = { needs: "a value", ...USUAL };

const FILE: Option = {
  needs: `the path of docker_compose_location first, then paths inside the repository, at most ${FILES_MAX} in all`,
  read(value, command, location) {
    const isFirst = command.files.length === 0;
    const path = isFirst && plainPath(value) === plainPath(location) ? plainPath(location) : pathInside(value);
    if (path === undefined || command.files.length >= FILES_MAX) return undefined;
    if (isFirst && path !== plainPath(location)) return undefined;
    return { ...command, files: [...command.files, path] };
  },
};
const ENV_FILE: Option = {
  needs: `a path inside the repository, at most ${FILES_MAX} in all`,
  read(value, command) {
    const path = pathInside(value);
    if (path === undefined || command.envFiles.length >= FILES_MAX) return undefined;
    return { ...command, envFiles: [...command.envFiles, path] };
  },
};
const PROJECT_FOLDER: Option = {
  needs: "the folder of the compose file",
  read: (value, command) => (plainPath(value) === "" ? command : undefined),
};
const PROFILE: Option = {
  needs: "the name of a profile",
  read: (value, command) =>
    /^[a-zA-Z0-9][\w.-]*$|^\*$/.test(value) ? { ...command, profiles: [...command.profiles, value] } : undefined,
};
const BUILD_ARG: Option = {
  needs: "NAME=value or the name of a variable",
  read(value, command) {
    const [, name, text] = /^([A-Za-z_]\w*)(?:=([\s\S]*))?$/.exec(value) ?? [];
    if (name === undefined) return undefined;
    return { ...command, buildArgs: { ...command.buildArgs, [name]: text ?? null } };
  },
};
const SCALE: Option = {
  needs: "SERVICE=number, with a number from 0 to 100",
  read(value, command) {
    const [, name, count] = /^([A-Za-z0-9][\w.-]*)=(\d{1,3})$/.exec(value) ?? [];
    if (name === undefined || Number(count) > SCALE_MAX) return undefined;
    return { ...command, scale: { ...command.scale, [name]: Number(count) } };
  },
};
const SCALE_MAX = 100;

/** Options before the subcommand. */
const OPTIONS: Readonly<Record<string, Option>> = {
  "--file": FILE,
  "--env-file": ENV_FILE,
  "--profile": PROFILE,
  "--project-directory": PROJECT_FOLDER,
  "--progress": USUAL_WITH_VALUE,
  "--ansi": USUAL_WITH_VALUE,
};

/** Options after the subcommand. */
const FLAGS: Readonly<Record<CommandStep, Readonly<Record<string, Option>>>> = {
  build: {
    "--build-arg": BUILD_ARG,
    "--no-cache": { read: (_value, command) => ({ ...command, isForced: true }) },
    "--pull": { read: (_value, command) => ({ ...command, isPulled: true }) },
    "--quiet": USUAL,
  },
  start: {
    "--build": USUAL,
    "--detach": USUAL,
    "--force-recreate": { read: (_value, command) => ({ ...command, isRecreated: true }) },
    "--no-build": USUAL,
    "--quiet-pull": USUAL,
    "--remove-orphans": USUAL,
    "--scale": SCALE,
    "--wait": USUAL,
  },
};

const SHORT: Readonly<Record<string, string>> = { "-f": "--file", "-d": "--detach", "-q": "--quiet" };

/**
 * Reads a custom compose command. It is never run: Berth does itself what the options mean, and refuses those that it
 * does not support.
 * @param location Path of the compose file.
 */
export function readComposeCommand(
  step: CommandStep,
  text: string | null | undefined,
  location: string,
): ComposeCommand | { readonly problem: string } {
  if (!text?.trim()) return NO_COMMAND;
  const words = splitWords(text);
  const own = `docker compose ${COMMANDS[step]}`;
  if (words === undefined) return { problem: "A quotation mark is not closed." };
  const [program, plugin, ...rest] = words[0] === "docker-compose" ? ["docker", "compose", ...words.slice(1)] : words;
  if (program !== "docker" || plugin !== "compose")
    return { problem: `Only ${own} can be used here, without a shell.` };
  const before = readOptions(rest, OPTIONS, NO_COMMAND, location);
  if ("problem" in before) return refused(own, before.problem, OPTIONS);
  const [command, ...others] = before.rest;
  if (command !== COMMANDS[step]) return refused(own, command ?? "a command without it", FLAGS[step]);
  const after = readOptions(others, FLAGS[step], before.command, location);
  if ("problem" in after) return refused(own, after.problem, FLAGS[step]);
  const [word] = after.rest;
  return word === undefined ? after.command : refused(own, word, FLAGS[step]);
}

/** The files that both commands use: where both name files, they name the same ones. */
export function commandFiles(commands: readonly ComposeCommand[]): Pick<ComposeCommand, "files" | "envFiles"> {
  const first = (key: "files" | "envFiles") => commands.map((command) => command[key]).find(({ length }) => length > 0);
  return { files: first("files") ?? [], envFiles: first("envFiles") ?? [] };
}

/** The files that differ between the build and the start command; `undefined` when none do. */
export function differingFiles(build: ComposeCommand, start: ComposeCommand): string | undefined {
  const isOther = (key: "files" | "envFiles") =>
    build[key].length > 0 && start[key].length > 0 && build[key].join("\n") !== start[key].join("\n");
  const option = isOther("files") ? "--file" : isOther("envFiles") ? "--env-file" : undefined;
  return (
    option &&
    `Names other files by ${option} than docker_compose_custom_build_command. Name the same ones in the same order, or none.`
  );
}

/** Why a command is not supported, as a sentence; `undefined` when it is. */
export function customCommandProblem(step: CommandStep, text: string | null | undefined, location: string) {
  const read = readComposeCommand(step, text, location);
  return "problem" in read ? read.problem : undefined;
}

function readOptions(
  words: readonly string[],
  options: Readonly<Record<string, Option>>,
  start: ComposeCommand,
  location: string,
): { readonly command: ComposeCommand; readonly rest: readonly string[] } | { readonly problem: string } {
  let command = start;
  let at = 0;
  for (; words[at]?.startsWith("-"); at += 1) {
    const [, said = "", inline] = /^([^=]*)(?:=([\s\S]*))?$/.exec(words[at] ?? "") ?? [];
    const name = SHORT[said] ?? said;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined || (option.needs === undefined && inline !== undefined)) return { problem: said };
    if (option.needs !== undefined && inline === undefined) at += 1;
    const value = inline ?? words[at] ?? "";
    const next = option.needs !== undefined && value === "" ? undefined : option.read(value, command, location);
    if (next === undefined) return { problem: `${said} ${value} (it needs ${option.needs})` };
    command = next;
  }
  return { command, rest: words.slice(at) };
}

function refused(own: string, foreign: string, options: Readonly<Record<string, Option>>) {
  const shown = foreign.slice(0, 200).replace(/\p{C}/gu, "?");
  const allowed = Object.keys(options).join(", ");
  const problem = `Berth runs ${own} itself and does not support ${shown}. Leave the field empty, or use only ${allowed}.`;
  return { problem };
}

/** `undefined`: it is outside of the source or not a path; the compose tool would also accept `-` and URLs. */
function pathInside(path: string): string | undefined {
  const isPath =
    !path.startsWith("/") && !/^-|:\/\/|^git@|^oci:|[\p{C}\\]/u.test(path) && path.length <= PATH_LENGTH_MAX;
  if (!isPath) return undefined;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.length === 0 || parts.includes("..") ? undefined : parts.join("/");
}

const PATH_LENGTH_MAX = 1024;

const plainPath = (path: string): string => path.replace(/^(\.?\/)+/, "").replace(/^\.$/, "");
