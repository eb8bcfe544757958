import type { ServerFacts } from "../ports/records.ts";
import type { DiskSpace, ServerInspection, SwarmNode } from "../ports/server-machine.ts";
import type { ClusterFindings } from "./cluster.ts";
import type { JobStep } from "./job-step.ts";
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
  /** The checks with their results. Left out: it ended before any. */
  readonly steps?: readonly JobStep[] | undefined;
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
  const steps = [
    stepOf("Engine", engineProblem, "It answers."),
    stepOf("Proxy", proxyProblem, "It answers."),
    diskStep(disk, diskThresholdPercent),
  ];
  return { is_reachable: engineProblem === null, ...resultOf(steps) };
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
  const { machineProblem, engineProblem, facts, disk } = inspection;
  if (machineProblem !== null) {
    // What is known of a machine that cannot be reached is not wrong because of that.
    return { is_reachable: false, ...resultOf([stepOf("Machine", machineProblem, "")]), is_usable: false };
  }
  if (engineProblem !== null || facts === null) {
    const steps = [
      ...inspectionSteps(NOTHING_OF_ENGINE),
      ...(engineProblem === null ? [] : [stepOf("Engine", engineProblem, "")]),
    ];
    return { is_reachable: true, ...resultOf(steps), is_usable: false, facts: null };
  }
  const steps = [
    ...inspectionSteps(inspection),
    ...clusterSteps(cluster),
    diskStep(disk, diskThresholdPercent),
    stepOf("Architecture", rareArchitecture(facts), `${facts.architecture}.`, "warned"),
    stepOf("Memory", littleMemory(facts), `${gigabytes(facts.memory_bytes)}.`, "warned"),
  ];
  return {
    is_reachable: true,
    ...resultOf(steps),
    facts,
    swarm: cluster === undefined ? inspection.swarm : cluster.node,
    engine: cluster?.engine,
  };
}

/** What is known of a machine that answers: nothing of its engine yet, or all that the engine said. */
export type InspectionProgress = Pick<ServerInspection, "facts" | "osType">;
export const NOTHING_OF_ENGINE: InspectionProgress = { facts: null, osType: null };

/** The checks that an inspection has made. */
export function inspectionSteps({ facts, osType }: InspectionProgress): readonly JobStep[] {
  const machine = stepOf("Machine", null, "It answers and runs programs.");
  if (facts === null) return [machine];
  const { engine_version, api_version, operating_system } = facts;
  return [
    machine,
    stepOf("Engine", null, `Docker ${engine_version} answers.`),
    stepOf("Version", oldEngine(facts), `API ${api_version}; ${API_MIN.join(".")} or newer is needed.`),
    stepOf("System", osType === "linux" ? null : otherSystem(osType), `${operating_system || "Linux"}.`),
  ];
}

/** A check that failed, or passed without a problem. */
export const stepOf = (
  name: string,
  problem: string | null,
  found: string,
  otherwise: "warned" | "failed" = "failed",
): JobStep =>
  problem === null ? { name, result: "passed", message: found } : { name, result: otherwise, message: problem };

function clusterSteps(cluster: ClusterFindings | undefined): readonly JobStep[] {
  if (cluster === undefined) return [];
  const { obstacle, warnings, node } = cluster;
  const problems = [
    ...(obstacle === null ? [] : [stepOf("Cluster", obstacle, "")]),
    ...warnings.map((warning) => stepOf("Cluster", warning, "", "warned")),
  ];
  return problems.length === 0 && node !== null ? [stepOf("Cluster", null, "It is a node of one.")] : problems;
}

/** Nothing runs on a full disk. */
function diskStep(disk: DiskSpace | null, thresholdPercent: number): JobStep {
  const isFull = disk !== null && disk.freeBytes < FREE_BYTES_MIN;
  const found = disk === null ? "" : `${gigabytes(disk.freeBytes)} of ${gigabytes(disk.totalBytes)} are free.`;
  return stepOf("Disk", diskProblem(disk, thresholdPercent), found, isFull ? "failed" : "warned");
}

function resultOf(steps: readonly JobStep[]): Pick<ValidationResult, "is_usable" | "validation_logs" | "steps"> {
  const problems = steps.filter(({ result }) => result !== "passed");
  return {
    is_usable: problems.every(({ result }) => result === "warned"),
    validation_logs: problems.length === 0 ? null : problems.map(({ message }) => message).join("\n"),
    steps,
  };
}

const gigabytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;

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
