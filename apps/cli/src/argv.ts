/** Arguments without options, and without the value of the global option that has one. */
export const wordsOf = (argv: readonly string[]) => argv.filter(isWord);

const isWord = (text: string, index: number, argv: readonly string[]): boolean =>
  !text.startsWith("-") && argv[index - 1] !== "--context";

export const VERSION_FLAGS = ["-V", "--version"];

/** Whether a version flag follows a command. Then it is probably the version of what the command makes. */
export const asksVersionAfterCommand = (argv: readonly string[]): boolean => {
  const command = argv.findIndex(isWord);
  return command >= 0 && argv.slice(command).some((text) => VERSION_FLAGS.includes(text));
};

/** `--help db create` and `help db create` ask for what `db create --help` shows. Alone they mean the program. */
export function helpLast(argv: readonly string[]): readonly string[] {
  const first = argv.findIndex(isWord);
  if (first < 0) return argv;
  const isCommand = argv[first] === "help" && argv.slice(first + 1).some((text) => !text.startsWith("-"));
  const before = argv.slice(0, first).filter((text) => !HELP_FLAGS.includes(text));
  if (!isCommand && before.length === first) return argv;
  return [...before, ...argv.slice(isCommand ? first + 1 : first), "--help"];
}

/** Of a command's words those before `--`, which commander leaves out; without it, none. */
export function wordsBeforeDashes(argv: readonly string[], words: readonly string[]): readonly string[] {
  const at = argv.indexOf("--");
  return at < 0 ? [] : words.slice(0, Math.max(0, words.length - (argv.length - at - 1)));
}

const HELP_FLAGS = ["-h", "--help"];
