import type { Command } from "commander";
import type { ExitCode } from "./failure.ts";
import type { Session } from "./session.ts";

/**
 * Wraps a command's action, which gets a new session, into the function that commander calls. The action returns its
 * exit code, or nothing for 0.
 */
export type Bind = <Arguments extends readonly unknown[]>(
  action: (session: Session, ...args: Arguments) => Promise<ExitCode> | Promise<void>,
) => (...args: Arguments) => Promise<void>;

/** A module in `commands/`: adds arguments, flags and the action to its command. */
export interface CommandModule {
  define(command: Command, bind: Bind): void;
}
