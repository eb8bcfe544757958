import { DomainError } from "@berth/core";
import type { BuildStep } from "@berth/core/build";

export interface FailedStep {
  readonly step: Pick<BuildStep, "name" | "shown">;
  readonly exitCode: number;
  /** The last lines of the step's output. */
  readonly lines: readonly string[];
}

/** The error of a failed step, with a remedy where the output suggests one. */
export function stepFailure({ step, exitCode, lines }: FailedStep): DomainError {
  const text = lines.join("\n");
  const hint = HINTS.find(({ exitCodes, pattern }) => exitCodes?.includes(exitCode) || pattern?.test(text))?.hint;
  const sentence = `The ${step.name} command \`${shown(step.shown)}\` exited with code ${exitCode}.`;
  return new DomainError("deploy.build_failed", hint === undefined ? sentence : `${sentence} ${hint}`);
}

interface Hint {
  readonly exitCodes?: readonly number[];
  readonly pattern?: RegExp;
  readonly hint: string;
}

/** The first match wins. Patterns of the output come before exit codes, which say less. */
const HINTS: readonly Hint[] = [
  {
    pattern:
      /npm ci` can only install packages when your package\.json and package-lock\.json|ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_FROZEN_LOCKFILE|Your lockfile needs to be updated|YN0028/,
    hint: "The lockfile does not match package.json: install on your machine and commit the lockfile.",
  },
  {
    pattern:
      /pyproject\.toml changed significantly since poetry\.lock was last generated|`uv\.lock` needs to be updated/,
    hint: "The lockfile does not match pyproject.toml: run `poetry lock` or `uv lock` on your machine and commit the lockfile.",
  },
  {
    pattern:
      /No interpreter found for|requires a different Python|current(ly activated)? Python version .* is not (supported|allowed|compatible)/i,
    hint: "The project does not allow this version of Python: install another one on the server, or on Docker set the build variable BERTH_BASE_IMAGE, such as python:3.12.",
  },
  {
    pattern: /Multiple top-level (packages|modules) discovered/,
    hint: "The folder cannot be installed as a package: list its dependencies in requirements.txt, or commit the lockfile of uv or poetry.",
  },
  {
    pattern: /ERR_PNPM_IGNORED_BUILDS/,
    hint: "pnpm refuses scripts of dependencies: allow them with `pnpm approve-builds` and commit the change.",
  },
  {
    pattern: /JavaScript heap out of memory/,
    hint: "Node ran out of memory: set the build variable NODE_OPTIONS=--max-old-space-size=4096, or build less at once.",
  },
  { pattern: /ENOSPC|No space left on device/, hint: "The server's disk is full." },
  {
    pattern:
      /npm (ERR!|error) Missing script: "?([\w:-]+)|ERR_PNPM_NO_SCRIPT|Command "[\w:-]+" not found|Couldn't find a script named/,
    hint: "package.json has no such script.",
  },
  {
    pattern: /npm (ERR!|error) code E404|ERR_PNPM_FETCH_404|returned a 404|Couldn't find package/i,
    hint: "A dependency does not exist in the registry, or needs a login.",
  },
  {
    pattern:
      /\b(ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH)\b|Failed to establish a new connection|Could not resolve host|dial tcp: lookup|failed to lookup address/,
    hint: "A host could not be reached: check the server's network and try again.",
  },
  {
    pattern: /ensurepip is not|No module named (venv|ensurepip)/,
    hint: "The server's Python cannot create virtual environments: install python3-venv there.",
  },
  {
    pattern:
      /command '[\w-]*(gcc|cc|g\+\+)' failed: No such file|unable to execute '[\w-]*gcc'|pg_config executable not found/,
    hint: "A dependency has to be compiled, and no compiler or library for it is there: install build-essential on the server, or on Docker set the build variable BERTH_BASE_IMAGE=python:3.13.",
  },
  {
    exitCodes: [137],
    hint: "It was killed, usually because it ran out of memory: the build reached its limit (BERTH_BUILD_MEMORY_PERCENT), or the server has too little.",
  },
  {
    exitCodes: [127],
    hint: "A program of this name is not installed: check the spelling, or add it to the dependencies.",
  },
  { exitCodes: [126], hint: "The file is not executable. Make it so with: git update-index --chmod=+x" },
];

const SHOWN_LENGTH_MAX = 120;

/** A command shortened to one line, for a message. */
export function shown(command: string): string {
  const line = command.replace(/\s+/g, " ").trim();
  return line.length > SHOWN_LENGTH_MAX ? `${line.slice(0, SHOWN_LENGTH_MAX)}...` : line;
}
