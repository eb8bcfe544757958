// Keeps a server running: the small parent of `npm start`. What a service manager does elsewhere.
import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";

/**
 * Runs a program in this one's place and starts it again after an unexpected end, later each time. The program says by
 * `process.send({ type: "ready", version, reportFile })` that it works; one that never came so far is not repeated.
 *
 * @param {string} program
 * @param {readonly string[]} argv
 * @param {import("node:child_process").SpawnOptions} options
 */
export function supervise(program, argv, options) {
  let isStopping = false;
  let pauseSeconds = PAUSE_SECONDS_MIN;
  /** @type {{ version: string, reportFile: string } | undefined} Of the newest run that worked. */
  let known;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  let child;
  /** @type {NodeJS.Timeout | undefined} */
  let waiting;

  const run = () => {
    waiting = undefined;
    const startedMs = Date.now();
    const lines = lastLines();
    const current = spawn(program, argv, { ...options, stdio: ["inherit", "inherit", "pipe", "ipc"] });
    child = current;
    current.stderr?.on("data", (chunk) => {
      process.stderr.write(chunk);
      lines.add(String(chunk));
    });
    current.on("message", (message) => {
      if (message?.type === "ready") known = { version: message.version, reportFile: message.reportFile };
    });
    current.on("error", ({ message }) => {
      console.error(message);
      process.exit(1);
    });
    // `close` comes behind the last of its output.
    current.on("close", (code, signal) => {
      if (isStopping || code === 0 || known === undefined) process.exit(code ?? (signal ? 128 : 1));
      const ranSeconds = Math.round((Date.now() - startedMs) / 1000);
      if (ranSeconds > STEADY_SECONDS) pauseSeconds = PAUSE_SECONDS_MIN;
      const reason = reasonOf(code, signal, lines.all());
      const isWritten = write(known, { reason, ranSeconds, log: lines.all() });
      const place = isWritten ? ` The report is in ${known.reportFile}.` : "";
      console.error(`Berth ended unexpectedly: ${reason}. It starts again in ${pauseSeconds} s.${place}`);
      waiting = setTimeout(run, pauseSeconds * 1000);
      pauseSeconds = Math.min(pauseSeconds * 2, PAUSE_SECONDS_MAX);
    });
  };

  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    isStopping = true;
    if (waiting !== undefined) process.exit(0);
    // A Ctrl-C in a terminal reaches the child by itself: relayed it would count twice. The child decides when to stop.
    if (signal !== "SIGINT") child?.kill(signal);
  };
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, () => stop(signal));
  run();
}

/** @param {number | null} code @param {string | null} signal @param {readonly string[]} log */
function reasonOf(code, signal, log) {
  if (log.some((line) => line.includes("heap out of memory"))) return "it ran out of memory (JavaScript heap)";
  if (signal === "SIGKILL") return "it was killed (SIGKILL), as by a machine that ran out of memory";
  return signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
}

/**
 * @param {{ version: string, reportFile: string }} known
 * @param {{ reason: string, ranSeconds: number, log: readonly string[] }} end
 */
function write({ version, reportFile }, { reason, ranSeconds, log }) {
  const report = { ended_at: new Date().toISOString(), version, reason, ran_seconds: ranSeconds, log };
  try {
    writeFileSync(`${reportFile}.new`, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${reportFile}.new`, reportFile);
    return true;
  } catch {
    // On a full disk the sentence above has to do.
    return false;
  }
}

/** The end of what it logged, which contains no secrets: those stand on standard output only. */
function lastLines() {
  let text = "";
  return {
    /** @param {string} more */
    add(more) {
      text = `${text}${more}`.slice(-LOG_LENGTH_MAX);
    },
    all: () => text.split("\n").filter(Boolean).slice(-LOG_LINES_MAX),
  };
}

const PAUSE_SECONDS_MIN = 1;
const PAUSE_SECONDS_MAX = 60;
/** After this time an end has another cause than the one before it. */
const STEADY_SECONDS = 600;
const LOG_LINES_MAX = 200;
const LOG_LENGTH_MAX = 200_000;
