import { type Command, Option } from "commander";
import { usage } from "./failure.ts";

/** A command that takes its application as an argument takes it as `--app` too, as `env` and `run` do. */
export function addAppFlag(command: Command): void {
  for (const subcommand of command.commands) addAppFlag(subcommand);
  if (command.registeredArguments[0]?.name() !== "app" || command.options.some(({ long }) => long === "--app")) return;
  command.addOption(new Option("--app <app>").hideHelp()).hook("preAction", (_, action) => {
    const { app } = action.opts<{ readonly app?: string }>();
    if (app === undefined) return;
    const [named] = action.processedArgs;
    if (named !== undefined && named !== app) throw usage(`Two applications are named: ${named}, and --app ${app}.`);
    action.processedArgs[0] = app;
  });
}
