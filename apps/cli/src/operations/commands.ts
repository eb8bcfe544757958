import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { addFlags } from "../flags.ts";
import { addWaitFlag } from "../follow/job.ts";
import type { DescribedOperation } from "./description.ts";
import { addSecretFiles } from "./secret-files.ts";

/**
 * Adds a command for each operation below `group`. Existing handwritten commands stay.
 *
 * @param group A command of the program, e.g. `databases`.
 */
export function addOperations(group: Command, operations: readonly DescribedOperation[], bind: Bind): void {
  for (const operation of operations) {
    const [first, ...rest] = operation.words;
    if (first !== group.name()) continue;
    const last = rest.at(-1);
    if (last === undefined) {
      defineOperation(group, operation, bind);
      continue;
    }
    const parent = rest.slice(0, -1).reduce(subgroup, group);
    if (parent === undefined || childOf(parent, last) !== undefined) continue;
    defineOperation(parent.command(last).summary(`${operation.summary}.`), operation, bind);
  }
  summarise(group);
}

/** A subgroup is described by its verbs, unless it is also a command itself. */
function summarise(group: Command): void {
  for (const command of group.commands) {
    if (command.commands.length === 0) continue;
    summarise(command);
    if (command.summary() === "" && command.description() === "")
      command.summary(command.commands.map((each) => each.name()).join(", "));
  }
}

function defineOperation(command: Command, operation: DescribedOperation, bind: Bind): void {
  const { pathParameters, queryFlags, bodyFlags, method, path } = operation;
  command.description(`${operation.summary}.\n\n${operation.description}\n\nIt is ${method} /api/v1${path}.`);
  for (const { name, help } of pathParameters) command.argument(`<${name.replaceAll("_", "-")}>`, help);
  const queryNames = new Set(queryFlags.map(({ name }) => name));
  addFlags(command, [...queryFlags, ...bodyFlags.filter(({ name }) => !queryNames.has(name))], "Fields:");
  addSecretFiles(command, bodyFlags, "Fields:");
  if (operation.hasBody) command.option("--input <file>", "all fields as JSON: a file, or - for standard input");
  if (operation.fileType !== undefined) command.requiredOption("--file <file>", "what to send; - for standard input");
  if (operation.startsJob) addWaitFlag(command);
  if (method === "DELETE") command.option("--yes", "do not ask");
  command.showSuggestionAfterError();
  // Commander hands over the arguments, then the options, then the command.
  command.action(
    bind(async (session, ...args: unknown[]) => {
      const { runOperation } = await import("./run.ts");
      return await runOperation(session, operation, args);
    }),
  );
}

const childOf = (parent: Command, name: string) => parent.commands.find((command) => command.name() === name);

function subgroup(parent: Command, name: string): Command {
  return childOf(parent, name) ?? parent.command(name).showSuggestionAfterError();
}
