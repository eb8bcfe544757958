/**
 * Summary of an unexpected error for Berth's log: name, code, origin and the beginning of its message. A foreign
 * message may be long and quote its input, which may contain secrets.
 *
 * @param redact Removes secrets from the message; without it the message is left out.
 */
export function errorSummary(error: unknown, redact?: (text: string) => string): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const message = redact === undefined ? {} : { message: redact(error.message).slice(0, MESSAGE_LENGTH_MAX) };
  return { name: error.name, ...code, ...message, at: framesOf(error) };
}

/** The stack frames only: the message before them may span several lines of any content. */
function framesOf({ stack = "", message }: Error): readonly string[] {
  const from = message === "" ? 0 : stack.indexOf(message) + message.length;
  // The message was changed after the stack was recorded, so the two cannot be separated.
  if (message !== "" && !stack.includes(message)) return [];
  const frames = stack.slice(from).split("\n");
  return frames.map((frame) => frame.trim()).filter((frame) => /^at .+:\d+:\d+\)?$/.test(frame));
}

const MESSAGE_LENGTH_MAX = 200;
