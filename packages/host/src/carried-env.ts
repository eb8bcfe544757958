import type { Argv } from "./argv.ts";

/**
 * Shell text that sets the variables of `carriedEnv` right before a program is executed, so that variables such as
 * LD_PRELOAD or NODE_OPTIONS do not affect the programs that start it.
 */
export const EXPORT_CARRIED = `for BERTH_NAME in $BERTH_NAMES; do
  eval "export $BERTH_NAME=\\"\\$BERTH_VALUE_$BERTH_NAME\\"; unset BERTH_VALUE_$BERTH_NAME"
done
unset BERTH_NAMES BERTH_NAME`;

/** Passes each value under a neutral name, until `EXPORT_CARRIED` sets the real one. */
export function carriedEnv(env: Readonly<Record<string, string>>): Record<string, string> {
  const isCarried = (name: string) => SHELL_NAME.test(name) && !OF_THE_SHELL.has(name);
  const entries = Object.entries(env).filter(([name]) => !OBEYED_BY_SHELLS.test(name));
  const carried = entries.map(([name, value]) => [isCarried(name) ? `BERTH_VALUE_${name}` : name, value]);
  const names = entries.map(([name]) => name).filter(isCarried);
  return { ...Object.fromEntries(carried), BERTH_NAMES: names.join(" ") };
}

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// Assigning one of these may end the shell. No program that starts another one reads them.
const OF_THE_SHELL: ReadonlySet<string> = new Set(["OPTIND", "UID", "EUID", "PPID"]);
// Bash reads functions and options from these, and they cannot be assigned. Dash does not pass them on.
const OBEYED_BY_SHELLS = /^(BASH_FUNC_.*|BASHOPTS|SHELLOPTS)$/s;

/**
 * Waits for a line on standard input, so that the program joins its group before it starts anything. Then executes it
 * with the variables of `carriedEnv` and an empty standard input.
 */
export const gatedArgv = (argv: Argv): Argv => [
  "/bin/sh",
  "-c",
  `IFS= read -r BERTH_GATE || exit 125\nunset BERTH_GATE\n${EXPORT_CARRIED}\nexec "$@" </dev/null`,
  "berth-gate",
  ...argv,
];
