import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { EXIT, Failure } from "./failure.ts";
import type { System } from "./system.ts";

export interface AskOptions {
  /** Hides the typed text. */
  readonly isSecret?: boolean;
}

/**
 * Asks a person at a terminal. The question goes to standard error: standard output is for answers.
 *
 * @throws Failure 130 on Ctrl-C and Ctrl-D
 */
export async function ask(system: System, question: string, { isSecret = false }: AskOptions = {}): Promise<string> {
  // In the terminal mode readline itself echoes what is typed: for a secret, into nothing.
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : system.stderr;
  const lines = createInterface({ input: system.stdin, output, terminal: true });
  try {
    // Not before the terminal is readline's: until then it would echo by itself what is typed.
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

const interrupted = () => new Failure("\nNothing was done.", { exitCode: EXIT.interrupted });

/** All of standard input, without the line end that a shell adds. */
export async function readInput({ stdin }: Pick<System, "stdin">): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}
