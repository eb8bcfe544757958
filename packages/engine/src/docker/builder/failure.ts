import { DomainError } from "@berth/core";
import { shown, stepFailure } from "../../builder/step-failure.ts";
import type { FailedBuildStep } from "./progress.ts";

/**
 * The reason why an image could not be built, in one sentence, with a remedy where the output suggests one.
 * @param cause BuildKit's error for the whole build.
 */
export function buildFailure(step: FailedBuildStep | undefined, cause: unknown): DomainError {
  const exitCode = Number(/exit code: (\d+)/.exec(step?.error ?? "")?.[1] ?? Number.NaN);
  if (step !== undefined && Number.isInteger(exitCode)) {
    return stepFailure({ step, exitCode, lines: step.lines });
  }
  const reason = reasonOf(step?.error ?? (cause instanceof Error ? cause.message : ""));
  const hint = HINTS.find(({ pattern }) => pattern.test(reason))?.hint;
  const where = step === undefined || step.shown === "" ? "" : ` in \`${shown(step.shown)}\``;
  const sentence = `The image could not be built${where}: ${reason === "" ? "BuildKit gave no reason" : reason}.`;
  return new DomainError("deploy.build_failed", hint === undefined ? sentence : `${sentence} ${hint}`, { cause });
}

/** Removes the prefixes that each layer of the software added. */
function reasonOf(text: string): string {
  const bare = text
    .replace(/failed to solve(?: with frontend [\w.]+)?: /g, "")
    .replace(/rpc error: code = \w+ desc = /g, "")
    .replace(/failed to create LLB definition: /g, "")
    .replace(/\.$/, "");
  return bare.replace(/\s+/g, " ").trim().slice(0, REASON_LENGTH_MAX);
}

const HINTS: readonly { readonly pattern: RegExp; readonly hint: string }[] = [
  {
    pattern: /pull access denied|insufficient_scope|401 Unauthorized|no basic auth credentials/i,
    hint: "Check the name of the image; a private one needs a login for its registry among Berth's registries.",
  },
  { pattern: /toomanyrequests|429 Too Many/i, hint: "Rate limit of the registry reached: try again later." },
  {
    pattern: /no such host|i\/o timeout|connection refused|TLS handshake/i,
    hint: "The registry could not be reached.",
  },
  { pattern: /target stage .* could not be found/, hint: "Correct dockerfile_target_build." },
  {
    pattern: /not found/,
    hint: "Check that the path is in the repository, below base_directory, and not left out by .dockerignore.",
  },
];

const REASON_LENGTH_MAX = 400;
