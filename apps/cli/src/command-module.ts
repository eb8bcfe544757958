import type { Command } from "commander";
import type { ExitCode } from "./failure.ts";
import type { Session } from "./session.ts";

/**
 * Gives commander the function it calls: the command's action, in a session of its own. The action answers its exit
 * code, or nothing for 0.
 */
export type Bind = <Arguments extends readonly unknown[]>(
  action: (session: Session, ...args: Arguments) => Promise<ExitCode> | Promise<void>,
) => (...args: Arguments) => Promise<void>;

/** A module in `commands/`: adds arguments, flags and the action to its command. */
export interface CommandModule {
  define(command: Command, bind: Bind): void;
}
