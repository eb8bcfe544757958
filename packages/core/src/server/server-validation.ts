import type { ServerFacts } from "../ports/records.ts";
import type { DiskSpace, ServerInspection, SwarmNode } from "../ports/server-machine.ts";
import type { ClusterFindings } from "./cluster.ts";
import { ENGINES, type EngineKind } from "./server-settings.ts";

/** Result of a worker's check of a usable server. */
export interface ServerFindings {
  /** Why the engine does not answer, as a sentence for people. */
  readonly engineProblem: string | null;
  readonly proxyProblem: string | null;
  /** Usage of the disk with the server's resources; `null` if unknown. */
  readonly disk: DiskSpace | null;
}

export interface ValidationResult {
  readonly is_reachable: boolean;
  readonly is_usable: boolean;
  /** Sentences, one per line. With `is_usable` they are warnings. */
  readonly validation_logs: string | null;
  /** Hardware and system of the machine, when known. */
  readonly facts?: ServerFacts | null | undefined;
  /** Its node of a cluster, if known; `null` outside of one. */
  readonly swarm?: SwarmNode | null | undefined;
  /** Its engine from now on. Left out: unchanged. */
  readonly engine?: EngineKind | undefined;
}

/** With less, builds fail, and programs may not be able to write. */
const FREE_BYTES_MIN = 256 * 1024 * 1024;

/** @param diskThresholdPercent Higher usage is a warning. */
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

/**
 * @param diskThresholdPercent Higher usage is a warning.
 * @param cluster Left out: the server's cluster, if any, changes nothing.
 */
export function dockerValidationOf(
  inspection: ServerInspection,
  diskThresholdPercent: number,
  cluster?: ClusterFindings | undefined,
): ValidationResult {
  const { machineProblem, engineProblem, facts, osType, disk } = inspection;
  const problem = machineProblem ?? engineProblem;
  if (problem !== null || facts === null) {
    const found = { is_reachable: machineProblem === null, is_usable: false, validation_logs: problem };
    // What is known of a machine that cannot be reached is not wrong because of that.
    return machineProblem === null ? { ...found, facts: null } : found;
  }
  const obstacles = [
    oldEngine(facts),
    osType === "linux" ? null : otherSystem(osType),
    cluster?.obstacle ?? null,
  ].filter((line) => line !== null);
  const isDiskFull = disk !== null && disk.freeBytes < FREE_BYTES_MIN;
  const warnings = [diskProblem(disk, diskThresholdPercent), rareArchitecture(facts), littleMemory(facts)];
  const lines = [...obstacles, ...(cluster?.warnings ?? []), ...warnings.filter((line) => line !== null)];
  return {
    is_reachable: true,
    is_usable: obstacles.length === 0 && !isDiskFull,
    validation_logs: lines.length === 0 ? null : lines.join("\n"),
    facts,
    swarm: cluster === undefined ? inspection.swarm : cluster.node,
    engine: cluster?.engine,
  };
}

function oldEngine({ engine_version, api_version }: ServerFacts): string | null {
  const [major = 0, minor = 0] = api_version.split(".").map(Number);
  if (major > API_MIN[0] || (major === API_MIN[0] && minor >= API_MIN[1])) return null;
  return `Its Docker ${engine_version} (API ${api_version}) is too old. Update it to 20.10 (API ${API_MIN.join(".")}) or newer.`;
}

const otherSystem = (osType: string | null) =>
  `Its Docker runs containers of ${osType ?? "an unknown system"}. Switch it to Linux containers, or use another server.`;

function rareArchitecture({ architecture }: ServerFacts): string | null {
  if (TRIED_ARCHITECTURES.includes(architecture)) return null;
  return `Its architecture ${architecture} is not tested with Berth (${TRIED_ARCHITECTURES.join(", ")}). Check that the images you use exist for it.`;
}

function littleMemory({ memory_bytes }: ServerFacts): string | null {
  if (memory_bytes >= MEMORY_BYTES_MIN) return null;
  const megabytes = Math.floor(memory_bytes / 1024 / 1024);
  return `It has ${megabytes} MB of memory. Builds may run out of it: add swap, or build on another server.`;
}

const API_MIN = [1, 41] as const; // Docker 20.10, the version of Debian 11.
const TRIED_ARCHITECTURES: readonly string[] = ["amd64", "arm64"];
const MEMORY_BYTES_MIN = 900 * 1024 * 1024;

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

/** The validation of a server whose engine this version does not support. */
export const unsupportedEngineValidation = (engine: EngineKind): ValidationResult => ({
  is_reachable: false,
  is_usable: false,
  validation_logs: `This version of Berth does not support servers with ${ENGINES[engine].title} yet: the server is recorded, but nothing can run on it.`,
});
