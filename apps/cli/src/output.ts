import Table from "cli-table3";
import pico from "picocolors";
import { printable } from "./printable.ts";
import type { System } from "./system.ts";

export type Colors = ReturnType<typeof pico.createColors>;

export interface OutputOptions {
  readonly json: boolean;
  readonly verbose: boolean;
  /** `false` for `--no-color`. */
  readonly color: boolean;
}

/**
 * Output of a command. By default tables and lines on standard output. With `--json`: only the API's answers on
 * standard output, and all other text on standard error.
 */
export interface Output {
  readonly isJson: boolean;
  readonly isVerbose: boolean;
  /** Whether standard output is a terminal without `--json`, so that the cursor may move. */
  readonly isLive: boolean;
  /** Colors of standard output. */
  readonly colors: Colors;
  readonly columns: number;
  /** Shows an answer of the API; `forPeople` prints it when `--json` is not given. */
  show(answer: unknown, forPeople: () => void): void;
  /** Prints one of several answers as a line of JSON. Does nothing without `--json`. */
  json(answer: unknown): void;
  /** Prints a line on standard output, or on standard error with `--json`. */
  line(text: string): void;
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Prints pairs of a name and a text, one per line. */
  details(pairs: readonly (readonly [name: string, text: string])[]): void;
  /** Prints on standard error. */
  warn(text: string): void;
}

export function output(system: Pick<System, "stdout" | "stderr" | "env">, options: OutputOptions): Output {
  const { stdout, stderr } = system;
  const isLive = !options.json && stdout.isTTY === true && system.env.TERM !== "dumb";
  const hasColors = options.color && mayColor(system.env);
  const people = options.json ? stderr : stdout;
  const colors = pico.createColors(hasColors && people.isTTY === true);
  const warnColors = pico.createColors(hasColors && stderr.isTTY === true);
  const line = (text: string) => void people.write(`${text}\n`);
  const json = (answer: unknown) => {
    if (options.json) stdout.write(`${JSON.stringify(answer)}\n`);
  };

  return {
    isJson: options.json,
    isVerbose: options.verbose,
    isLive,
    colors,
    columns: stdout.columns ?? 80,
    json,
    line,
    show: (answer, forPeople) => {
      if (options.json) stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
      else forPeople();
    },
    table: (head, rows) => line(table(head.map(colors.bold), rows)),
    details: (pairs) => {
      const width = Math.max(...pairs.map(([name]) => name.length));
      for (const [name, text] of pairs) line(`${colors.dim(name.padEnd(width))}  ${text}`);
    },
    warn: (text) => void stderr.write(`${warnColors.yellow("Warning:")} ${text}\n`),
  };
}

/** NO_COLOR applies when it is set and not empty (no-color.org). */
const mayColor = (env: System["env"]) => !env.NO_COLOR && env.TERM !== "dumb";

/** Columns without borders, two spaces apart, also readable by `awk`. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const none = { top: "", "top-mid": "", "top-left": "", "top-right": "", mid: "", "left-mid": "", "mid-mid": "" };
  const lines = { "right-mid": "", bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" };
  const drawn = new Table({
    head: [...head],
    chars: { ...none, ...lines, left: "", right: "", middle: "  " },
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  });
  for (const row of rows) drawn.push([...row]);
  return drawn
    .toString()
    .split("\n")
    .map((text) => text.trimEnd())
    .join("\n");
}

/** A cell with foreign text; `-` for an empty one, so that columns can be counted. */
export const cell = (text: string | null | undefined): string => printable(text ?? "") || "-";
