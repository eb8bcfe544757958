import { describe, expect, test } from "vitest";
import { stepFailure } from "./step-failure.ts";

describe("a failed step", () => {
  const say = (exitCode: number, text = "", shown = "npm run build") =>
    stepFailure({ step: { name: "build", shown }, exitCode, lines: text.split("\n") }).message;

  test("names its command and exit code", () => {
    expect(say(2)).toBe("The build command `npm run build` exited with code 2.");
    expect(say(1, "", `a\n  b ${"x".repeat(500)}`)).toMatch(
      /^The build command `a b x{100,120}\.\.\.` exited with code 1\.$/,
    );
  });

  test.each([
    [137, "", "ran out of memory"],
    [127, "sh: 1: nope: not found", "is not installed"],
    [126, "", "is not executable"],
    [
      1,
      "npm error `npm ci` can only install packages when your package.json and package-lock.json or x are in sync",
      "lockfile does not match",
    ],
    [1, " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install", "lockfile does not match"],
    [
      1,
      "error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.",
      "lockfile does not match",
    ],
    [1, "➤ YN0028: The lockfile would have been modified", "lockfile does not match"],
    [
      134,
      "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
      "Node ran out of memory",
    ],
    [1, 'npm error Missing script: "build"', "no such script"],
    [1, "npm error code E404", "does not exist in the registry"],
    [1, "npm error errno ENOTFOUND", "could not be reached"],
    [1, "NewConnectionError('<x>: Failed to establish a new connection: [Errno -2]')", "could not be reached"],
    [128, "fatal: unable to access 'https://x/': Could not resolve host: x", "could not be reached"],
    [1, 'go: x: Get "https://p/": dial tcp: lookup p: no such host', "could not be reached"],
    [
      1,
      "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix the lock file.",
      "does not match pyproject.toml",
    ],
    [2, "error: No interpreter found for Python >=3.14 in search path", "does not allow this version of Python"],
    [1, "The currently activated Python version 3.11.2 is not supported by the project (>=3.13).", "BERTH_BASE_IMAGE"],
    [1, "ERROR: Package 'x' requires a different Python: 3.11.2 not in '>=3.13'", "does not allow this version"],
    [1, "error: Multiple top-level modules discovered in a flat-layout: ['main', 'other'].", "requirements.txt"],
    [1, "npm error code ENOSPC", "disk is full"],
    [1, "error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory", "BERTH_BASE_IMAGE=python:3.13"],
  ])("with code %i and output %j says why", (exitCode, text, expected) => {
    expect(say(exitCode, text)).toContain(expected);
  });
});
