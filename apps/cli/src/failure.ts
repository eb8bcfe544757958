export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Why a command ended, in the words that the person at the terminal reads. Nothing else is printed about it. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: ExitCode;
  /** Remedies or parts of the problem, one line each, below the message. */
  readonly details: readonly string[];

  constructor(
    message: string,
    options: { readonly exitCode?: ExitCode; readonly details?: readonly string[]; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.failed;
    this.details = options.details ?? [];
  }
}

/** The command line itself is wrong. */
export const usage = (message: string, details: readonly string[] = []) =>
  new Failure(message, { exitCode: EXIT.usage, details });

/** @param code Of the operating system, e.g. `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));
