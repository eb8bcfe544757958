export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The reason why a command failed, as printed for the user. Nothing else is printed about it. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: ExitCode;
  /** Remedies or details of the problem, one line each, below the message. */
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

/** Failure for an invalid command line. */
export const usage = (message: string, details: readonly string[] = []) =>
  new Failure(message, { exitCode: EXIT.usage, details });

/** @param code Error code of the operating system, e.g. `ENOENT`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));
