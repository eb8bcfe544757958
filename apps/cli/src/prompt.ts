import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { EXIT, Failure } from "./failure.ts";
import type { System } from "./system.ts";

export interface AskOptions {
  /** Hides the typed text. */
  readonly isSecret?: boolean;
}

/**
 * Prompts on a terminal. The question is printed on standard error, since standard output is for results.
 *
 * @throws Failure 130 on Ctrl-C and Ctrl-D
 */
export async function ask(system: System, question: string, { isSecret = false }: AskOptions = {}): Promise<string> {
  // readline echoes the input itself; for a secret, the echo is dropped.
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : system.stderr;
  const lines = createInterface({ input: system.stdin, output, terminal: true });
  try {
    // Printed only once readline controls the terminal, which would otherwise echo the input.
    system.stderr.write(question);
    return await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      for (const event of ["close", "SIGINT"]) lines.once(event, () => reject(interrupted()));
    });
  } finally {
    lines.removeAllListeners("close");
    lines.close();
    if (isSecret) system.stderr.write("\n");
  }
}

/** @throws Failure unless the answer is yes */
export async function requireYes(system: System): Promise<void> {
  const typed = await ask(system, "Continue? [y/N] ");
  if (!/^y(es)?$/i.test(typed)) throw new Failure("Nothing was done.");
}

const interrupted = () => new Failure("\nNothing was done.", { exitCode: EXIT.interrupted });

/** Reads all of standard input, without the final line end that shells add. */
export async function readInput({ stdin }: Pick<System, "stdin">): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
