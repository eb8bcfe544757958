/** One measured figure beside the one to reach. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly wanted: string;
  readonly isReached: boolean;
}

export const atMost = (name: string, value: number, limit: number, unit = ""): Figure => ({
  name,
  measured: `${round(value)}${unit}`,
  wanted: `at most ${limit}${unit}`,
  isReached: value <= limit,
});

export const atLeast = (name: string, value: number, limit: number, unit = ""): Figure => ({
  name,
  measured: `${round(value)}${unit}`,
  wanted: `at least ${limit}${unit}`,
  isReached: value >= limit,
});

export const table = (figures: readonly Figure[]): string =>
  [
    "| Figure | Measured | To reach | |",
    "|---|---|---|---|",
    ...figures.map(
      ({ name, measured, wanted, isReached }) => `| ${name} | ${measured} | ${wanted} | ${isReached ? "✓" : "✗"} |`,
    ),
  ].join("\n");

const round = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
