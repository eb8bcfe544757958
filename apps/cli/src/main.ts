#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import type { System } from "./system.ts";

const { XDG_CACHE_HOME } = process.env;
const cacheFolder = XDG_CACHE_HOME?.startsWith("/") ? XDG_CACHE_HOME : join(homedir(), ".cache");
// Halves the start from the second time on. In the user's own folder: what lies in /tmp may be another's code.
enableCompileCache(join(cacheFolder, "berth"));
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
      // One Ctrl-C may come twice: from the terminal and from npm. The second shall not cut off the last words.
      if (isInterrupted) process.on("SIGINT", () => {});
      process.off("SIGINT", onSignal);
    };
  },
};

// A reader may stop reading, as in `berth logs | head`. That is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
}

const exitCode = await run(process.argv.slice(2), system);
// Ends at once, whatever is still open, but not before what was written to a pipe has gone its way.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));
