#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import type { System } from "./system.ts";

const { XDG_CACHE_HOME } = process.env;
const cacheFolder = XDG_CACHE_HOME?.startsWith("/") ? XDG_CACHE_HOME : join(homedir(), ".cache");
// Halves the start time from the second run on. In the user's own folder, since files in /tmp may belong to others.
// Node 20 lacks it.
module.enableCompileCache?.(join(cacheFolder, "berth"));
const { run } = await import("./program.ts");

const system: System = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  homeFolder: homedir(),
  isRoot: process.getuid?.() === 0,
  onInterrupt: (callback) => {
    let isInterrupted = false;
    const onSignal = () => {
      isInterrupted = true;
      callback();
    };
    process.on("SIGINT", onSignal);
    return () => {
      // One Ctrl-C may arrive twice: from the terminal and from npm. The second must not cut the final output.
      if (isInterrupted) process.on("SIGINT", () => {});
      process.off("SIGINT", onSignal);
    };
  },
};

// A reader may stop early, as in `berth logs | head`. That is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
}

const exitCode = await run(process.argv.slice(2), system);
// Exits at once even with open connections, but only after pipes have received all output.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));
