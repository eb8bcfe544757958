// Keeps a server running: the small parent process of `npm start`, in place of a service manager.
import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";

/**
 * Runs a program and restarts it with backoff after a crash. The program reports by `process.send({ type: "ready",
 * version, reportFile })` that it has started; without that it is not restarted.
 *
 * @param {string} program
 * @param {readonly string[]} argv
 * @param {import("node:child_process").SpawnOptions} options
 */
export function supervise(program, argv, options) {
  let isStopping = false;
  let pauseSeconds = PAUSE_SECONDS_MIN;
  /** @type {{ version: string, reportFile: string } | undefined} Of the newest run that started. */
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
    // `close` follows the last output.
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
    // A terminal's Ctrl-C reaches the child directly, so relaying would send it twice. The child decides when to stop.
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
    // The report cannot be written; the message above was printed anyway.
    return false;
  }
}

/** The end of the log. It contains no secrets, which are printed on standard output only. */
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
/** A crash after this time is unrelated to the one before. */
const STEADY_SECONDS = 600;
const LOG_LINES_MAX = 200;
const LOG_LENGTH_MAX = 200_000;
