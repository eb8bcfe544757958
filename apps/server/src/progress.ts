/** Output of the start: one line per step, with its duration. */
export interface Progress {
  /** Prints the step while it runs and when it is done. Returns or throws like `work`. */
  step<T>(title: string, work: () => Promise<T>, describe?: (result: T) => string): Promise<T>;
  line(text: string): void;
  /** Whether output goes to a terminal, and is not stored by a file or another program. */
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
