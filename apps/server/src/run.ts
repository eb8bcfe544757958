import { isDomainError, VERSION } from "@berth/core";
import { readConfig } from "./config.ts";
import { dataFolder } from "./data-folder.ts";
import { handleLeftOverErrors } from "./left-over-errors.ts";
import { logger } from "./logger.ts";
import { progress } from "./progress.ts";
import { rotateKey } from "./rotate-key.ts";
import { type RunningServer, startServer } from "./server.ts";

const STOP_GRACE_SECONDS = 30; // Longer than the default grace period of applications.

async function main([command, ...others]: readonly string[]): Promise<void> {
  if (command === "rotate-key" && others.length === 0) {
    return await rotateKey(readConfig(process.env), progress(process.stdout));
  }
  if (command !== undefined) {
    process.stderr.write(`Usage: npm start [-- rotate-key]\n`);
    process.exit(2);
  }
  await serve();
}

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const log = logger(config.logLevel);
  handleLeftOverErrors(process, log);
  // Parent or terminal may be closed: output is then lost, but the server continues.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const starting = startServer(config, { log, progress: progress(process.stdout) });
  stopOnSignal(starting);
  await starting;
  // Tells the parent process, which restarts the server after a crash.
  process.send?.({ type: "ready", version: VERSION, reportFile: dataFolder(config.dataFolder).lastFailureFile });
}

/** During a start too, which is ended first: what it has begun by then would otherwise keep running. */
function stopOnSignal(starting: Promise<RunningServer>): void {
  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) {
      // A second Ctrl-C skips the waiting. Applications continue and are taken over at the next start.
      if (signal === "SIGINT") process.exit(130);
      return;
    }
    isStopping = true;
    process.stdout.write("\nStopping: applications first, then the database. Press Ctrl-C again to leave at once.\n");
    const server = await starting;
    setTimeout(() => process.exit(1), STOP_GRACE_SECONDS * 1000).unref();
    await server.stop();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => void stop(signal).catch(fail));
  }
}

/** Prints one sentence for a problem that the operator can solve, and the stack for an internal error. */
function fail(error: unknown): never {
  if (isDomainError(error)) process.stderr.write(`${error.message}\n`);
  else console.error("Berth stopped because of an internal error:", error);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
