import type { Command } from "commander";
import { VERSION_FLAGS, wordsOf } from "./argv.ts";
import { createHint, groupHint, habitOf, settingsHint } from "./habits.ts";
import { printable } from "./printable.ts";

interface Commands {
  readonly program: Command;
  /** Help groups of the commands that act on an application. */
  readonly ofApplications: readonly string[];
}

/** An unknown word in a group reaches the group's default command, for which commander reports too many arguments. */
export function commandError(text: string, argv: readonly string[], { program, ofApplications }: Commands): string {
  const [first = "", word, ...others] = wordsOf(argv);
  const habit = text.startsWith("error: unknown command") ? habitOf(first) : undefined;
  if (habit !== undefined) return `error: unknown command '${first}'\n${habit}\n`;
  const command = commandOf(program, argv);
  if (VERSION_FLAGS.some((flag) => text.startsWith(`error: unknown option '${flag}'`)))
    return [text.trimEnd(), versionHint(command), ""].join("\n");
  if (text.startsWith("error: unknown option '") && command.usage().includes(" -- "))
    return [text.trimEnd(), `What follows -- belongs to the command: ${pathOf(command)} ${PASSED_ON}`, ""].join("\n");
  const unknownFlag = /^error: unknown option '(--?[\w-]+)/.exec(text)?.[1] ?? "";
  const flag = STATEMENT_FLAGS.includes(unknownFlag) ? statementHint(command, argv) : flagHint(unknownFlag, command);
  if (flag !== undefined) return [text.trimEnd(), flag, ""].join("\n");
  if (text.startsWith("error: unknown command") && command !== program)
    return [text.trimEnd(), `${pathOf(command)} is followed by one of: ${namesIn(command)}`, ""].join("\n");
  const group = commandNamed(program, first);
  const isOfDefault = /^error: too many arguments for '(list|show)'\./.test(text);
  if (!isOfDefault || word === undefined || (group && commandNamed(group, word) !== undefined)) {
    const isOfArguments = /^error: (too many arguments|missing required argument)/.test(text);
    if (!isOfArguments) return text;
    const hint = statementHint(command, argv) ?? `Usage: ${pathOf(command)} ${command.usage()}`;
    return [text.trimEnd(), hint, ""].join("\n");
  }
  const hint = group === undefined ? [] : hintFor(group, [word, ...others], { program, ofApplications });
  return [`error: ${printable(first)} has no command '${printable(word)}'`, ...hint, ""].join("\n");
}

/** The flag that an unknown one of other tools means, where the command has it. */
function flagHint(unknown: string, { options }: Command): string | undefined {
  const [, hint] = FLAG_HABITS.find(([flags, hint]) => flags.includes(unknown) && options.some(isNamedIn(hint))) ?? [];
  return hint;
}

/** What was typed after the name of a database, as the flag by which its client gets it. */
function statementHint(command: Command, argv: readonly string[]): string | undefined {
  const isClient = command.options.some(({ short, long }) => short === "-c" && long === "--command");
  const words = wordsOf(argv).slice(pathOf(command).split(" ").length - 1);
  const [name, ...statement] = words.map(printable);
  if (!isClient || name === undefined || statement.length === 0) return undefined;
  const quoted = statement.join(" ").replaceAll("'", "'\\''");
  return `To run one statement: ${pathOf(command)} ${name} --command '${quoted}'`;
}

const STATEMENT_FLAGS = ["-e", "--execute", "--eval", "-q", "--query"];

const isNamedIn =
  (hint: string) =>
  ({ long }: { readonly long?: string | null | undefined }): boolean =>
    Boolean(long) && hint.split(" ").includes(long ?? "");

const FLAG_HABITS: readonly (readonly [flags: readonly string[], hint: string])[] = [
  [["--port", "--ports", "-p", "--expose"], "The port that it listens on: --ports-exposes 3000"],
  [["--publish"], "A port of the server for one of the container: --ports-mappings 8080:80"],
  [["--domain", "--url", "--urls", "--host", "--hostname"], "Its URL: --domains https://shop.example"],
  [["--repo", "--repository", "--git-repository"], "A repository: --git https://git.example/shop.git"],
  [["--ref", "--git-branch"], "A branch: --branch main"],
  [["--start", "--cmd", "--command"], "What starts it: --start-command 'node server.js'"],
  [["--build", "--build-cmd"], "What builds it: --build-command 'npm run build'"],
  [["--root", "--dir", "--directory", "--cwd", "--path"], "Its folder in the source: --base-directory /app"],
  [
    ["--compose", "--compose-file"],
    "A compose file: --build-pack dockercompose --docker-compose-location /compose.yaml",
  ],
  [["--file", "-f"], "A Dockerfile: --build-pack dockerfile --dockerfile-location /Dockerfile"],
  [["--wait"], "It waits, unless you say --detach or --no-wait"],
];

const PASSED_ON = "APP -- COMMAND --ITS-OPTIONS";

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const versionHint = (command: Command): string =>
  command.options.some(({ long }) => long === "--image")
    ? "The version is a part of the image: --image NAME:VERSION"
    : "The version of berth itself: berth --version";

const namesIn = ({ commands }: Command): string => commands.map((each) => each.name()).join(", ");

/** The command that the words name, as deep as they do. */
const commandOf = (program: Command, argv: readonly string[]): Command =>
  wordsOf(argv).reduce((command, word) => commandNamed(command, word) ?? command, program);

/** What was probably meant by the words after a group that does not have the first of them. */
function hintFor(
  group: Command,
  [word = "", ...others]: readonly string[],
  { program, ofApplications }: Commands,
): readonly string[] {
  const isOfApplications = group.name() === "apps" || group.name() === "app";
  const own = isOfApplications ? commandNamed(program, word) : undefined;
  if (own !== undefined && ofApplications.includes(own.helpGroup()))
    return [`To do this with an application: berth ${[own.name(), ...others].map(printable).join(" ")}`];
  const owner = OWNER_FLAGS[group.name()];
  if (owner !== undefined && isGroupOf(program, "env", word))
    return [`Variables: berth env list ${owner} NAME, berth env set KEY=VALUE ${owner} NAME`];
  const habit = groupHint(group.name(), word, others.map(printable));
  if (habit !== undefined) return [habit];
  const creating = createHint(group.name(), word);
  if (creating !== undefined && (isOfApplications || commandNamed(group, "create") !== undefined)) return [creating];
  const other = settingsHint(group.name(), word, printable(others[0] ?? "NAME"));
  if (other !== undefined && (isOfApplications || commandNamed(group, "update") !== undefined)) return [other];
  const name = printable(others.at(-1) ?? word);
  if (isOfApplications) return [`To show ${name}: berth app ${name}`];
  return commandNamed(group, "get") === undefined ? [] : [`To show ${name}: berth ${group.name()} get ${name}`];
}

/** Groups whose objects have variables, and the flag of `berth env` that names one. */
const OWNER_FLAGS: Readonly<Record<string, string>> = { services: "--service", databases: "--database" };

const isGroupOf = (program: Command, name: string, word: string): boolean =>
  commandNamed(program, word)?.name() === name;

const commandNamed = (parent: Command, name: string): Command | undefined =>
  parent.commands.find((each) => each.name() === name || each.aliases().includes(name));
