/**
 * What Berth's own log says of an error that nobody expected: the name, the code, where it came from and the beginning
 * of its message. The whole of a foreign message may be long and quote what it failed on, secrets among it.
 *
 * @param redact Takes the secrets out of the message; without one the message is left out.
 */
export function errorSummary(error: unknown, redact?: (text: string) => string): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const message = redact === undefined ? {} : { message: redact(error.message).slice(0, MESSAGE_LENGTH_MAX) };
  return { name: error.name, ...code, ...message, at: framesOf(error) };
}

/** The stack without the message at its beginning, which may have lines that look like anything. */
function framesOf({ stack = "", message }: Error): readonly string[] {
  const from = message === "" ? 0 : stack.indexOf(message) + message.length;
  // A message that was changed after the stack was made cannot be told from it.
  if (message !== "" && !stack.includes(message)) return [];
  const frames = stack.slice(from).split("\n");
  return frames.map((frame) => frame.trim()).filter((frame) => /^at .+:\d+:\d+\)?$/.test(frame));
}

const MESSAGE_LENGTH_MAX = 200;
