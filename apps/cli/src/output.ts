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
 * Where a command says what it has to say. For people: tables and lines on standard output. With `--json`: the API's
 * answers on standard output and nothing else, whatever is for people on standard error.
 */
export interface Output {
  readonly isJson: boolean;
  readonly isVerbose: boolean;
  /** Standard output is a terminal and for people: the cursor may move. */
  readonly isLive: boolean;
  /** Colors of standard output. */
  readonly colors: Colors;
  readonly columns: number;
  /** An answer of the API; `forPeople` is what people see of it. */
  show(answer: unknown, forPeople: () => void): void;
  /** One answer of several, as a line of JSON. Nothing for people. */
  json(answer: unknown): void;
  /** For people: standard output, or standard error with `--json`. */
  line(text: string): void;
  table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Pairs of a name and a text, below each other. */
  details(pairs: readonly (readonly [name: string, text: string])[]): void;
  /** Always on standard error. */
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

/** NO_COLOR counts when it is there and not empty (no-color.org). */
const mayColor = (env: System["env"]) => !env.NO_COLOR && env.TERM !== "dumb";

/** Columns without borders, two spaces apart: the same text for eyes and for `awk`. */
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

/** A cell with text from elsewhere; `-` where there is none, so that columns can be counted. */
export const cell = (text: string | null | undefined): string => printable(text ?? "") || "-";
