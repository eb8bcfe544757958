/** A measured value with its target. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly wanted: string;
  /** `undefined`: informative, without a target. */
  readonly isReached: boolean | undefined;
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

export const told = (name: string, value: number, unit = ""): Figure => ({
  name,
  measured: `${round(value)}${unit}`,
  wanted: "",
  isReached: undefined,
});

export const table = (figures: readonly Figure[]): string =>
  [
    "| Figure | Measured | To reach | |",
    "|---|---|---|---|",
    ...figures.map(
      ({ name, measured, wanted, isReached }) => `| ${name} | ${measured} | ${wanted} | ${mark(isReached)} |`,
    ),
  ].join("\n");

const mark = (isReached: boolean | undefined): string => (isReached === undefined ? "" : isReached ? "✓" : "✗");

const round = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
