import type { EngineKind } from "./server.ts";

/** What a worker saw of a server that it can work on. */
export interface ServerFindings {
  /** A sentence for people when the engine does not answer. */
  readonly engineProblem: string | null;
  readonly proxyProblem: string | null;
  /** Of the disk that holds what the server runs; `null` when it cannot be read. */
  readonly disk: DiskSpace | null;
}

export interface DiskSpace {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface ValidationResult {
  readonly is_reachable: boolean;
  readonly is_usable: boolean;
  /** Sentences, a line each. With `is_usable` they are warnings. */
  readonly validation_logs: string | null;
}

/** Below it a build stops in the middle, and what runs may not be able to write. */
const FREE_BYTES_MIN = 256 * 1024 * 1024;

/** @param diskThresholdPercent Fuller than this is worth a warning. */
export function validationOf(findings: ServerFindings, diskThresholdPercent: number): ValidationResult {
  const { engineProblem, proxyProblem, disk } = findings;
  const isDiskFull = disk !== null && disk.freeBytes < FREE_BYTES_MIN;
  const lines = [engineProblem, proxyProblem, diskProblem(disk, diskThresholdPercent)].filter((line) => line !== null);
  return {
    is_reachable: engineProblem === null,
    is_usable: engineProblem === null && proxyProblem === null && !isDiskFull,
    validation_logs: lines.length === 0 ? null : lines.join("\n"),
  };
}

function diskProblem(disk: DiskSpace | null, thresholdPercent: number): string | null {
  if (disk === null) return "The free space of its disk could not be read.";
  const { totalBytes, freeBytes } = disk;
  const freeMegabytes = Math.floor(freeBytes / 1024 / 1024);
  if (freeBytes < FREE_BYTES_MIN) {
    return `Its disk is full: ${freeMegabytes} MB are free, ${FREE_BYTES_MIN / 1024 / 1024} MB are needed.`;
  }
  const usedPercent = totalBytes === 0 ? 0 : Math.round((1 - freeBytes / totalBytes) * 100);
  if (usedPercent < thresholdPercent) return null;
  return `Its disk is ${usedPercent} % full, the threshold is ${thresholdPercent} %.`;
}

/** Of a server whose engine this version has no way to drive. */
export const undrivenValidation = (engine: Exclude<EngineKind, "process">): ValidationResult => ({
  is_reachable: false,
  is_usable: false,
  validation_logs: `This version of Berth cannot drive servers with ${ENGINE_NAMES[engine]} yet: the server is kept as a record, and nothing runs on it.`,
});

const ENGINE_NAMES = { docker: "Docker", swarm: "Docker Swarm" } as const;
