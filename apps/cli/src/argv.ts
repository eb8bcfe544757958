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
