import { VERSION } from "@berth/core";
import { Command, CommanderError, Option } from "commander";
import { addAppFlag } from "./app-flag.ts";
import { asksVersionAfterCommand, helpLast, VERSION_FLAGS, wordsOf } from "./argv.ts";
import { commandError } from "./command-error.ts";
import type { Bind, CommandModule } from "./command-module.ts";
import { EXIT, type ExitCode } from "./failure.ts";
import type { DescribedOperation } from "./operations/description.ts";
import { output } from "./output.ts";
import type { Session } from "./session.ts";
import type { System } from "./system.ts";

interface Entry {
  readonly name: string;
  /** Alternative names. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly group: string;
  readonly load: () => Promise<CommandModule>;
}

const DEPLOY = "Deploying:";
const RUN = "Running applications:";
const OTHERS = "Databases and services:";
const CONNECT = "Servers and access:";

const COMMANDS: readonly Entry[] = [
  {
    name: "deploy",
    group: DEPLOY,
    summary: "deploy a folder, or a git repository",
    load: () => import("./commands/deploy.ts"),
  },
  {
    name: "deployments",
    aliases: ["releases"],
    group: DEPLOY,
    summary: "list deployments, ask for one, show one",
    load: () => import("./commands/deployments.ts"),
  },
  { name: "cancel", group: DEPLOY, summary: "cancel a deployment", load: () => import("./commands/cancel.ts") },
  {
    name: "apps",
    aliases: ["ls", "ps", "list"],
    group: RUN,
    summary: "list applications",
    load: () => import("./commands/apps.ts"),
  },
  {
    name: "app",
    aliases: ["status"],
    group: RUN,
    summary: "show an application",
    load: () => import("./commands/app.ts"),
  },
  {
    name: "logs",
    aliases: ["log"],
    group: RUN,
    summary: "show what an application or a deployment printed",
    load: () => import("./commands/logs.ts"),
  },
  {
    name: "env",
    aliases: ["config", "vars", "variables", "secrets"],
    group: RUN,
    summary: "list, set and remove environment variables",
    load: () => import("./commands/env.ts"),
  },
  {
    name: "scheduled-tasks",
    aliases: ["task", "tasks", "cron"],
    group: RUN,
    summary: "list, create, run and delete scheduled tasks, show what they printed",
    load: () => import("./commands/scheduled-tasks.ts"),
  },
  {
    name: "run",
    group: RUN,
    summary: "run a command in an application",
    load: () => import("./commands/run.ts"),
  },
  {
    name: "exec",
    aliases: ["shell"],
    group: RUN,
    summary: "open a terminal in a container, or run a command in it",
    load: () => import("./commands/exec.ts"),
  },
  {
    name: "domains",
    aliases: ["domain", "urls", "url"],
    group: RUN,
    summary: "list, add, replace and remove the URLs of applications and services",
    load: () => import("./commands/domains.ts"),
  },
  { name: "open", group: RUN, summary: "open an application in the browser", load: () => import("./commands/open.ts") },
  { name: "start", group: RUN, summary: "start an application", load: () => import("./commands/start.ts") },
  { name: "stop", group: RUN, summary: "stop an application", load: () => import("./commands/stop.ts") },
  {
    name: "scale",
    group: RUN,
    summary: "set how many containers an application has",
    load: () => import("./commands/scale.ts"),
  },
  { name: "restart", group: RUN, summary: "restart an application", load: () => import("./commands/restart.ts") },
  {
    name: "rollback",
    group: RUN,
    summary: "roll an application back to an earlier build",
    load: () => import("./commands/rollback.ts"),
  },
  {
    name: "move",
    group: RUN,
    summary: "move to another environment, or an application to another server",
    load: () => import("./commands/move.ts"),
  },
  {
    name: "delete",
    aliases: ["destroy", "rm", "remove"],
    group: RUN,
    summary: "delete an application",
    load: () => import("./commands/delete.ts"),
  },
  {
    name: "databases",
    aliases: ["db", "database"],
    group: OTHERS,
    summary: "list, create, start, stop and change databases, show their URLs and logs",
    load: () => import("./commands/databases.ts"),
  },
  {
    name: "backups",
    aliases: ["backup"],
    group: OTHERS,
    summary: "back up databases now or on a schedule, restore and verify backups",
    load: () => import("./commands/backups.ts"),
  },
  {
    name: "services",
    aliases: ["service"],
    group: OTHERS,
    summary: "run compose files and one-click services, show what a change would change",
    load: () => import("./commands/services.ts"),
  },
  {
    name: "templates",
    group: OTHERS,
    summary: "list the one-click services",
    load: () => import("./commands/templates.ts"),
  },
  { name: "login", group: CONNECT, summary: "connect to a server", load: () => import("./commands/login.ts") },
  {
    name: "whoami",
    group: CONNECT,
    summary: "show the server, the team and what the token may do",
    load: () => import("./commands/whoami.ts"),
  },
  {
    name: "context",
    group: CONNECT,
    summary: "list, choose and remove connections",
    load: () => import("./commands/context.ts"),
  },
  {
    name: "tokens",
    group: CONNECT,
    summary: "list, create and revoke tokens",
    load: () => import("./commands/tokens.ts"),
  },
  {
    name: "user",
    aliases: ["users", "members"],
    group: CONNECT,
    summary: "list, invite and remove users, reset a lost second factor",
    load: () => import("./commands/user.ts"),
  },
  {
    name: "notifications",
    aliases: ["notification"],
    group: CONNECT,
    summary: "choose what the team is notified of and where, send a test, list deliveries",
    load: () => import("./commands/notifications.ts"),
  },
  {
    name: "projects",
    group: CONNECT,
    summary: "list, create, change and delete projects and environments",
    load: () => import("./commands/projects.ts"),
  },
  {
    name: "servers",
    aliases: ["server"],
    group: CONNECT,
    summary: "list, add, validate, change and delete servers",
    load: () => import("./commands/servers.ts"),
  },
  {
    name: "clusters",
    aliases: ["cluster"],
    group: CONNECT,
    summary: "list the nodes of a cluster, make one, join, leave, promote, drain",
    load: () => import("./commands/clusters.ts"),
  },
  {
    name: "ssh",
    group: CONNECT,
    summary: "open a terminal on a server",
    load: () => import("./commands/ssh.ts"),
  },
  {
    name: "doctor",
    group: CONNECT,
    summary: "check Berth, its servers and domains, and suggest remedies",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "version",
    group: CONNECT,
    summary: "show the versions of berth and of the server",
    load: () => import("./commands/version.ts"),
  },
  { name: "api", group: CONNECT, summary: "send any request to the REST API", load: () => import("./commands/api.ts") },
];

/** @param typed Arguments after the program's name. */
export async function run(typed: readonly string[], system: System): Promise<ExitCode> {
  const argv = helpLast(typed);
  let exitCode: ExitCode = EXIT.ok;
  let current: Session | undefined;
  const program = root(system, argv);
  const bind: Bind =
    (action) =>
    async (...args) => {
      const { session } = await import("./session.ts");
      current = session(argv, system, outputOf(program, system), program.opts().context);
      exitCode = (await action(current, ...args)) ?? EXIT.ok;
    };

  try {
    const wanted = commandIn(argv);
    for (const entry of COMMANDS) {
      const command = program.command(entry.name).summary(entry.summary).description(capital(entry.summary));
      command
        .helpGroup(entry.group)
        .aliases(entry.aliases ?? [])
        .showSuggestionAfterError();
      // Only the command that runs is loaded; the others only appear in the help.
      if (entry.name !== wanted) continue;
      (await entry.load()).define(command, bind);
      addAppFlag(command);
    }
    const isByHand = COMMANDS.some(({ name }) => name === wanted) && !SHARED.has(wanted ?? "");
    const isForVersion = wanted === undefined && VERSION_FLAGS.some((flag) => argv.includes(flag));
    if (!isByHand && !isForVersion) await addEveryOperation(program, wanted, bind);
    for (const command of program.commands) if (command.name() === wanted) addShortNames(command);
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { explain, failureLines } = await import("./explain.ts");
    const failure = explain(error, {
      connection: current?.connection(),
      isVerbose: program.opts().verbose === true,
      flagNames: flagNamesOf(program, argv),
    });
    const answer = program.opts().json === true ? await answerIn(error) : undefined;
    if (answer !== undefined) system.stdout.write(`${JSON.stringify(answer)}\n`);
    system.stderr.write(failureLines(failure));
    return failure.exitCode;
  }
}

/** What people type from habit. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  list: "ls",
  delete: "rm",
  remove: "rm",
  get: "show",
  show: "get",
};

function addShortNames(group: Command): void {
  const taken = new Set(group.commands.flatMap((each) => [each.name(), ...each.aliases()]));
  for (const each of group.commands) {
    const short = SHORT_NAMES[each.name()];
    if (short !== undefined && !taken.has(short)) each.alias(short);
    addShortNames(each);
  }
}

/** The API's answer when it refused. */
async function answerIn(error: unknown): Promise<object | undefined> {
  const { NOT_BERTH, problemIn } = await import("./connection/problem.ts");
  const problem = problemIn(error);
  if (problem === undefined || problem.code === NOT_BERTH) return undefined;
  const { status: _status, ...answer } = problem;
  return answer;
}

/** Handwritten commands in groups that also have commands generated from the API's operations. */
const SHARED: ReadonlySet<string> = new Set([
  "clusters",
  "databases",
  "deployments",
  "notifications",
  "projects",
  "servers",
  "services",
  "tokens",
]);

const EVERYTHING = "Everything the API offers:";

/** Reading the description takes some 20 ms, so it is done only when its commands are run or shown. */
async function addEveryOperation(program: Command, wanted: string | undefined, bind: Bind): Promise<void> {
  const { operations } = await import("./operations/description.ts");
  const all = operations();
  const groups = new Set(all.map(({ words: [first = ""] }) => first));
  for (const group of groups) {
    const made = program.commands.find((command) => command.name() === group);
    const command = made ?? program.command(group).helpGroup(EVERYTHING).showSuggestionAfterError();
    if (made === undefined) command.summary(firstLower(groupSummary(group, all)));
    // The others are lines of the help, and suggestions for a word that is none.
    if (group !== wanted) continue;
    const { addOperations } = await import("./operations/commands.ts");
    addOperations(command, all, bind);
  }
}

function groupSummary(group: string, all: readonly DescribedOperation[]): string {
  const own = all.filter(({ words }) => words[0] === group);
  const [only, ...others] = own;
  if (only !== undefined && others.length === 0) return only.summary;
  const verbs = [...new Set(own.map(({ words }) => words[1] ?? ""))];
  return verbs.slice(0, SHOWN_VERBS_MAX).join(", ") + (verbs.length > SHOWN_VERBS_MAX ? ", ..." : "");
}
const SHOWN_VERBS_MAX = 6;

function root(system: System, argv: readonly string[]): Command {
  const program: Command = new Command("berth")
    .description("Deploys applications to servers of your own.")
    .addOption(new Option("--context <name>", "the connection to use instead of the chosen one"))
    .addOption(new Option("--json", "print what the API answers, and nothing else"))
    .addOption(new Option("--verbose", "print more: whole logs while following, details of errors"))
    .addOption(new Option("--no-color", "print without colours"))
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => void system.stdout.write(text),
      writeErr: (text) => void system.stderr.write(text),
      getOutHelpWidth: () => system.stdout.columns ?? 100,
      getErrHelpWidth: () => system.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(commandError(text, argv, { program, ofApplications: [DEPLOY, RUN] })),
    })
    .showHelpAfterError("Run with --help for usage")
    .showSuggestionAfterError()
    .exitOverride()
    .helpCommand(true);
  // After a command, it is probably the version of what the command makes. To answer with another would hide that.
  if (!asksVersionAfterCommand(argv)) program.version(VERSION, VERSION_FLAGS.join(", "), "print the version of berth");
  return program;
}

function outputOf(program: Command, system: System) {
  const { json = false, verbose = false, color } = program.opts();
  return output(system, { json, verbose, color });
}

/** Name of the command: the first word. */
function commandIn(argv: readonly string[]): string | undefined {
  const words = wordsOf(argv);
  // For `berth help deploy` the flags of `deploy` are needed too.
  const word = words[0] === "help" ? words[1] : words[0];
  return COMMANDS.find(({ aliases = [] }) => aliases.includes(word ?? ""))?.name ?? word;
}

function flagNamesOf(program: Command, argv: readonly string[]): ReadonlySet<string> {
  const wanted = commandIn(argv);
  const commands = program.commands.filter((each) => wanted === undefined || each.name() === wanted);
  return new Set(commands.flatMap(optionsOf).map(({ long }) => long?.replace(/^--/, "") ?? ""));
}

const optionsOf = (command: Command): readonly Option[] => [...command.options, ...command.commands.flatMap(optionsOf)];

const firstLower = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
