import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { freshBuild } from "../../../tooling/build/fresh.mjs";

const MAIN = join(freshBuild("cli"), "main.js");
const CHECKOUT = join(import.meta.dirname, "../../../bin/berth");

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Text for its standard input, which then ends. */
  readonly input?: string;
}

export interface Running {
  readonly ended: Promise<Ran>;
  stdout(): string;
  send(text: string): void;
  interrupt(): void;
}

/** Runs the command line in a process with pipes. */
export function start(argv: readonly string[], options: RunOptions): Running {
  return watch(spawn(process.execPath, [MAIN, ...argv], spawnOptions(options)), options.input);
}

export const berth = (argv: readonly string[], options: RunOptions): Promise<Ran> => start(argv, options).ended;

/** Runs `bin/berth` of this checkout. */
export const berthOfCheckout = (argv: readonly string[], options: RunOptions): Promise<Ran> =>
  watch(spawn(CHECKOUT, [...argv], spawnOptions(options)), options.input).ended;

/** Runs the command line on a terminal with 100 columns, created by `script`. */
export function startOnTerminal(argv: readonly string[], options: RunOptions): Running {
  const command = [process.execPath, MAIN, ...argv].map(quoted).join(" ");
  const env = { ...options.env, TERM: "xterm-256color" };
  const script = ["--quiet", "--return", "--command", `stty cols 100 rows 30; exec ${command}`, "/dev/null"];
  const child = spawn("script", script, spawnOptions({ ...options, env }));
  const running = watch(child, undefined);
  // A key press instead of a signal, which the terminal turns into one.
  return { ...running, interrupt: () => running.send("\u0003") };
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

const spawnOptions = ({ cwd, env }: RunOptions) => ({ cwd, env, stdio: "pipe" }) as const;

function watch(child: ChildProcess, input: string | undefined): Running {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  if (input !== undefined) child.stdin?.end(input);
  return {
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, stdout, stderr }));
    }),
    stdout: () => stdout,
    send: (text) => void child.stdin?.write(text),
    interrupt: () => void child.kill("SIGINT"),
  };
}
