import type { BuildStep } from "@berth/core/build";
import { type LineSplitter, splitLines } from "@berth/host";
import type { Status } from "../buildkit/messages.ts";

/** Output of a build. */
export interface BuildTrace {
  write(status: Status): void;
  /** Passes on the last line, even without a line end. */
  end(): void;
  /** The failed step, with the last lines of its output. */
  failedStep(): FailedBuildStep | undefined;
}

export interface FailedBuildStep {
  readonly name: BuildStep["name"];
  /** As in the Dockerfile: `RUN npm ci`. */
  readonly shown: string;
  readonly error: string;
  readonly lines: readonly string[];
}

/** Commands by the marks that Berth wrote into its Dockerfiles; the log shows the command. */
export type KnownSteps = ReadonlyMap<string, Pick<BuildStep, "name" | "shown">>;

/** Turns BuildKit's events into log lines: the start of each step, its output, and whether it was cached. */
export function buildTrace(
  onLine: (line: string, stream: "stdout" | "stderr") => void,
  known: KnownSteps = new Map(),
): BuildTrace {
  const steps = new Map<string, TracedStep>();

  const stepOf = (digest: string): TracedStep => {
    const known = steps.get(digest) ?? newStep(onLine);
    steps.set(digest, known);
    return known;
  };

  return {
    write({ vertexes, logs }) {
      for (const vertex of vertexes) {
        const name = shownName(vertex.name, known);
        showVertex(stepOf(vertex.digest), { ...vertex, name }, onLine);
      }
      for (const { vertex, msg, stream } of logs) {
        stepOf(vertex)[stream === 2 ? "stderr" : "stdout"].write(Buffer.from(msg));
      }
    },
    end() {
      for (const step of steps.values()) endOutput(step);
    },
    failedStep() {
      const failed = [...steps.values()].find(({ error }) => error !== undefined && !/context canceled/.test(error));
      return failed?.error === undefined
        ? undefined
        : failedStepOf(failed.name, known, { error: failed.error, lines: failed.lines });
    },
  };
}

interface TracedStep {
  name: string;
  error: string | undefined;
  isBegun: boolean;
  isCached: boolean;
  readonly lines: string[];
  readonly stdout: LineSplitter;
  readonly stderr: LineSplitter;
}

function newStep(onLine: (line: string, stream: "stdout" | "stderr") => void): TracedStep {
  const lines: string[] = [];
  const splitter = (stream: "stdout" | "stderr") =>
    splitLines((line) => {
      keepLast(lines, line, STEP_LINES_MAX);
      onLine(line, stream);
    });
  const output = { stdout: splitter("stdout"), stderr: splitter("stderr") };
  return { name: "", error: undefined, isBegun: false, isCached: false, lines, ...output };
}

function showVertex(step: TracedStep, vertex: Vertex, onLine: (line: string, stream: "stdout" | "stderr") => void) {
  if (vertex.name !== "") step.name = vertex.name;
  if (vertex.error) step.error = vertex.error;
  const isInternal = step.name.startsWith("[internal]") || step.name.startsWith("[auth]");
  if (vertex.started && !step.isBegun) {
    step.isBegun = true;
    step.isCached = vertex.cached;
    if (!isInternal) onLine(`${vertex.cached ? "CACHED " : ""}${oneLine(step.name)}`, "stdout");
  } else if (vertex.cached && !step.isCached) {
    step.isCached = true;
    if (!isInternal) onLine(`CACHED ${oneLine(step.name)}`, "stdout");
  }
  if (vertex.completed) endOutput(step);
}

function endOutput(step: TracedStep): void {
  step.stdout.end();
  step.stderr.end();
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

function shownName(name: string, known: KnownSteps): string {
  const step = [...known].find(([mark]) => name.includes(mark))?.[1];
  return step === undefined ? name : `${/^\[[^\]]*\]\s*/.exec(name)?.[0] ?? ""}$ ${step.shown}`;
}

function failedStepOf(
  name: string,
  known: KnownSteps,
  failure: Pick<FailedBuildStep, "error" | "lines">,
): FailedBuildStep {
  const instruction = instructionOf(name);
  const step = [...known.values()].find(({ shown }) => instruction === oneLine(`$ ${shown}`));
  return { name: step?.name ?? "build", shown: step?.shown ?? instruction, ...failure };
}

/** The instruction without the prefix of stage and number. */
const instructionOf = (name: string): string => oneLine(name.replace(/^\[[^\]]*\]\s*/, ""));

function keepLast(lines: string[], line: string, count: number): void {
  lines.push(line);
  if (lines.length > count) lines.shift();
}

type Vertex = Status["vertexes"][number];

const STEP_LINES_MAX = 200; // Lines kept for the error message; the deployment's log has all.
