/** Progress of the start: one line a step, with its duration. */
export interface Progress {
  /** Says what is being done, then that it is done. Passes the work's result and error on. */
  step<T>(title: string, work: () => Promise<T>, describe?: (result: T) => string): Promise<T>;
  line(text: string): void;
  /** Whether a person reads it, and not a file or another program that keeps it. */
  readonly isTerminal: boolean;
}

const SHOW_MILLISECONDS_BELOW = 1000;

export function progress(output: { write(text: string): unknown; readonly isTTY?: boolean }): Progress {
  const line = (text: string) => void output.write(`${text}\n`);
  return {
    line,
    isTerminal: output.isTTY === true,
    step: async (title, work, describe) => {
      const startedAt = performance.now();
      const result = await work();
      const detail = describe?.(result);
      line(`  ✓ ${title}${detail ? `: ${detail}` : ""} (${took(performance.now() - startedAt)})`);
      return result;
    },
  };
}

function took(milliseconds: number): string {
  return milliseconds < SHOW_MILLISECONDS_BELOW
    ? `${Math.round(milliseconds)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}
