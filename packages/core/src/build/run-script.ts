/**
 * The script that starts an application. Its command replaces the shell (`exec`), so that signals reach it.
 *
 * @param command A command line as its author wrote it.
 * @param binFolders Folders with programs, relative to the working directory.
 */
export function runScript(
  command: string,
  options: {
    readonly binFolders: readonly string[];
    readonly isNode: boolean;
    /** Defaults; the application's own variables win. Values are shell words. */
    readonly env?: Readonly<Record<string, string>>;
  },
) {
  const path = options.binFolders.map((folder) => `$PWD/${folder}:`).join("");
  return [
    ...(path === "" ? [] : [`export PATH="${path}$PATH"`]),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion.
    ...(options.isNode ? ['export NODE_ENV="${NODE_ENV:-production}"'] : []),
    ...Object.entries(options.env ?? {}).map(([name, value]) => `export ${name}="\${${name}:-${value}}"`),
    // The version in package.json may not be installed here; running a script does not need it.
    ...(/\bpnpm\b/.test(command) ? ["export pnpm_config_pm_on_fail=ignore"] : []),
    ...(/\byarn\b/.test(command) ? ["export SKIP_YARN_COREPACK_CHECK=1"] : []),
    withExec(command.trim()),
  ].join("\n");
}

/** Puts `exec` in front of a command line where that does not change its meaning. */
export function withExec(command: string): string {
  // Several commands, or syntax that `exec` would change, stay as they are.
  if (/[;&|()`\n#!]|(^|\s)[{}](\s|$)/.test(command)) return command;
  const { 1: assignments = "", 2: program = "" } =
    /^((?:[A-Za-z_]\w*=(?:[^\s"'\\]|"[^"]*"|'[^']*')*\s+)*)(\S+)/.exec(command) ?? [];
  if (!/^[\w@%+./$-]/.test(program) || program.includes("=") || SHELL_WORDS.has(program)) return command;
  return assignments === "" ? `exec ${command}` : `exec env ${command}`;
}

// `exec` cannot run shell builtins and keywords.
const SHELL_WORDS = new Set(
  (
    ". : [ alias bg break case cd command continue do done echo elif else esac eval exec exit export fg fi for function " +
    "getopts hash if in jobs kill let local printf pwd read readonly return set shift source test then time times trap " +
    "type ulimit umask unalias unset until wait while"
  ).split(" "),
);
