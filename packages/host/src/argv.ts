import type { Argv } from "@berth/core";

export type { Argv };

/**
 * POSIX quoting, for the only place that must pass a string to a shell: the remote end of an SSH connection.
 * @throws RangeError when a word contains a NUL byte, which no argument can.
 */
export function toShell(argv: Argv): string {
  return argv.map(quote).join(" ");
}

function quote(word: string): string {
  if (word.includes("\0")) throw new RangeError("An argument cannot contain a NUL byte.");
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
