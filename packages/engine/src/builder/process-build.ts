import { realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import { type BuildPlan, type BuildStep, detectPlan, nodeBins, type SourceFacts } from "@berth/core/build";
import type { BuildRequest, FolderArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { Argv } from "@berth/host";
import { run } from "@berth/host";
import semver from "semver";
import type { BuildPlace, ProcessBuilderOptions } from "./build-place.ts";
import { folderInside, readFacts } from "./facts.ts";
import { findPublishFolder } from "./publish-folder.ts";
import { hasCode, missingSource, moveSource } from "./source-move.ts";
import { markerEnv, stepEnv, stepMarker } from "./step-env.ts";
import { stepFailure } from "./step-failure.ts";

export async function build(request: BuildRequest, io: WorkIO, where: BuildPlace, options: ProcessBuilderOptions) {
  const { facts, way } = await inspect(request, where);
  const plan = detectPlan(facts, request.config);
  io.onLine(`Detected ${plan.detected}`, "stdout");
  for (const warning of [...nodeWarnings(facts), ...plan.warnings]) io.onLine(`Warning: ${warning}`, "stderr");
  for (const note of plan.notes) io.onLine(note, "stdout");

  await moveSource(request.sourceFolder, where.releaseFolder, where.user);
  // Not resolved again: nothing of the source has run yet that could have put a link there.
  const workingFolder = join(where.releaseFolder, way);
  for (const step of plan.steps) {
    await runStep(step, { request, io, where, workingFolder, bins: nodeBins(facts), options });
  }
  return {
    type: "folder",
    folder: where.releaseFolder,
    workingFolder,
    run: await finalRun(plan, where, workingFolder),
    detected: plan.detected,
  } satisfies FolderArtifact;
}

/** Reads the source before any of its code runs, in a folder that only we can enter. */
async function inspect(request: BuildRequest, where: BuildPlace) {
  try {
    const root = await folderInside(request.sourceFolder, "/", "base_directory");
    const folder = await folderInside(root, request.config.base_directory, "base_directory");
    return { facts: await readFacts(root, folder, where.path), way: relative(root, folder) };
  } catch (cause) {
    throw hasCode(cause, "ENOENT") ? missingSource(cause) : cause;
  }
}

function nodeWarnings({ packageJson }: SourceFacts): string[] {
  const range = packageJson?.enginesNode;
  if (range === undefined || semver.validRange(range) === null || semver.satisfies(process.version, range)) return [];
  return [`package.json asks for Node ${range}; this server runs applications on Node ${process.version.slice(1)}`];
}

interface StepPlace {
  readonly request: BuildRequest;
  readonly io: WorkIO;
  readonly where: BuildPlace;
  readonly workingFolder: string;
  /** Program folders, relative to `workingFolder`. */
  readonly bins: readonly string[];
  readonly options: ProcessBuilderOptions;
}

const STEP_SECONDS_MAX = 3600;
const KEPT_LINES = 200; // Lines kept for the error message; the deployment's log has all.

async function runStep(step: BuildStep, place: StepPlace): Promise<void> {
  const { io, where, request, workingFolder } = place;
  const stepSecondsMax = place.options.stepSecondsMax ?? STEP_SECONDS_MAX;
  const lines: string[] = [];
  for (const [index, line] of step.shown.split("\n").entries())
    io.onLine(`${index === 0 ? "$" : ">"} ${line}`, "stdout");
  const result = await run(nice(step.argv), {
    cwd: workingFolder,
    env: markerEnv(request),
    programEnv: stepEnv(step, {
      request,
      where,
      workingFolder,
      bins: place.bins,
      networkEnv: place.options.networkEnv ?? {},
    }),
    user: where.user,
    sandbox: where.sandbox,
    signal: io.signal,
    timeoutSeconds: stepSecondsMax,
    marker: stepMarker(request),
    cgroupFiles: where.group?.cgroupFiles,
    members: where.group?.members,
    graceSeconds: CANCEL_GRACE_SECONDS,
    maxOutputBytes: 0,
    onLine: (line, stream) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      io.onLine(line, stream);
    },
  }).catch((cause: unknown) => {
    if (!isDomainError(cause, "engine.failed")) throw cause;
    const message = `The ${step.name} command cannot be run in ${workingFolder}. ${cause.message}`;
    throw new DomainError("deploy.build_failed", message, { cause });
  });
  if (result.isTimedOut) {
    const message = `The ${step.name} command did not end within ${stepSecondsMax} seconds. The log shows what it waits for.`;
    throw new DomainError("deploy.timeout", message);
  }
  if (result.exitCode !== 0) throw stepFailure({ step, exitCode: result.exitCode, lines });
}

const CANCEL_GRACE_SECONDS = 1; // Short: the output of a cancelled build is thrown away.
const NICENESS = 5; // Lower priority than the control plane and running applications.

const nice = (argv: Argv): Argv => ["nice", "-n", String(NICENESS), ...argv];

async function finalRun(plan: BuildPlan, where: BuildPlace, workingFolder: string): Promise<FolderArtifact["run"]> {
  if (plan.run.type === "shell") return plan.run;
  const release = await realpath(where.releaseFolder);
  const folder = join(release, relative(where.releaseFolder, workingFolder));
  const root = await findPublishFolder(release, folder, plan.run);
  return { type: "static", root, isSpa: plan.run.isSpa };
}
