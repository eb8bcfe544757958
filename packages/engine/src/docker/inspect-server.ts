import { isDomainError } from "@berth/core";
import type { DiskSpace, ServerFacts, ServerInspection, ServerMachine, SwarmNode } from "@berth/core/ports";
import type { Host } from "@berth/host";
import { z } from "zod";
import { engineJson } from "./engine-json.ts";

/** Fields of an engine's version that are read. */
const Version = z.object({ Version: z.string(), ApiVersion: z.string() });
const Swarm = z.object({
  LocalNodeState: z.string().default(""),
  NodeID: z.string().default(""),
  ControlAvailable: z.boolean().default(false),
  RemoteManagers: z.array(z.object({ NodeID: z.string().default(""), Addr: z.string().default("") })).nullish(),
  Managers: z.number().default(0),
  Cluster: z.object({ ID: z.string().default("") }).nullish(),
});
const Info = z.object({
  ID: z.string().default(""),
  OperatingSystem: z.string().default(""),
  OSType: z.string().default("linux"),
  KernelVersion: z.string().default(""),
  Architecture: z.string().default(""),
  NCPU: z.number().default(0),
  MemTotal: z.number().default(0),
  DockerRootDir: z.string().default("/var/lib/docker"),
  // Other engines with this API leave it out, or send null.
  Swarm: Swarm.nullish(),
});

interface InspectionOptions {
  readonly socketPath?: string | undefined;
  readonly signal: AbortSignal;
}

/** Inspects a machine bottom-up: whether it runs programs, then its engine, then the engine's disk. */
export async function inspectServer(
  host: Host,
  { onProgress, ...options }: InspectionOptions & { readonly onProgress?: Parameters<ServerMachine["inspect"]>[0] },
): Promise<ServerInspection> {
  const nothing = {
    ...{ machineProblem: null, engineProblem: null, facts: null },
    ...{ engineId: null, swarm: null, osType: null, disk: null },
  };
  try {
    const { exitCode, output } = await host.run(["uname", "-s"], { env: ENV, signal: options.signal });
    if (exitCode !== 0) return { ...nothing, machineProblem: noPrograms(host.name, output) };
  } catch (error) {
    return { ...nothing, machineProblem: sentenceOf(error, `Server ${host.name} cannot be reached.`) };
  }
  onProgress?.(nothing);
  try {
    const version = Version.parse(await engineJson(host, "/version", options));
    const info = Info.parse(await engineJson(host, "/info", options));
    onProgress?.({ osType: info.OSType, facts: factsOf(version, info, null) });
    const disk = (await diskOf(host, info.DockerRootDir, options.signal)) ?? null;
    return {
      ...nothing,
      ...{ osType: info.OSType, disk, engineId: identityIn(info), swarm: swarmNode(info) },
      facts: factsOf(version, info, disk),
    };
  } catch (error) {
    return {
      ...nothing,
      engineProblem: sentenceOf(error, `The engine of server ${host.name} gave an unknown answer.`),
    };
  }
}

/** Identity of an engine, which it keeps for its lifetime; `null` for one that has none. @throws DomainError */
export async function engineIdentity(host: Host, options: InspectionOptions): Promise<string | null> {
  const parsed = Info.safeParse(await engineJson(host, "/info", options));
  return parsed.success ? identityIn(parsed.data) : null;
}

const identityIn = ({ ID }: z.infer<typeof Info>): string | null => (ID === "" ? null : ID.slice(0, ENGINE_ID_MAX));

/** A locked or failing node is none: it neither runs nor places anything. */
function swarmNode({ Swarm }: z.infer<typeof Info>): SwarmNode | null {
  if (Swarm?.LocalNodeState !== "active" || Swarm.NodeID === "") return null;
  return {
    nodeId: Swarm.NodeID.slice(0, SWARM_TEXT_MAX),
    isManager: Swarm.ControlAvailable,
    clusterId: Swarm.Cluster?.ID.slice(0, SWARM_TEXT_MAX) || null,
    managers: (Swarm.RemoteManagers ?? []).slice(0, SWARM_MANAGERS_MAX).map(({ NodeID, Addr }) => ({
      nodeId: NodeID.slice(0, SWARM_TEXT_MAX),
      address: Addr.replace(/:\d+$/, "").slice(0, SWARM_TEXT_MAX),
    })),
    managerCount: Swarm.Managers,
  };
}

/** Whether machine and engine answer. @throws DomainError */
export async function pingServer(host: Host, options: InspectionOptions): Promise<void> {
  await engineJson(host, "/_ping", options);
}

/** Usage of the disk with the engine's data. */
export async function serverDisk(host: Host, options: InspectionOptions): Promise<DiskSpace | undefined> {
  const { DockerRootDir } = Info.parse(await engineJson(host, "/info", options));
  return await diskOf(host, DockerRootDir, options.signal);
}

async function diskOf(host: Host, folder: string, signal: AbortSignal): Promise<DiskSpace | undefined> {
  const { exitCode, output } = await host.run(["df", "-P", "-k", "--", folder], { env: ENV, signal });
  return exitCode === 0 ? diskOfText(output) : undefined;
}

/** Parses `df -P -k` of one folder: kilobytes in total, used, and free for users other than root. */
export function diskOfText(output: string): DiskSpace | undefined {
  const numbers = /\s(\d+)\s+\d+\s+(\d+)\s+\d+%\s/.exec(output.split("\n").slice(1).join("\n"));
  if (numbers === null) return undefined;
  return { totalBytes: Number(numbers[1]) * 1024, freeBytes: Number(numbers[2]) * 1024 };
}

function factsOf(version: z.infer<typeof Version>, info: z.infer<typeof Info>, disk: DiskSpace | null): ServerFacts {
  return {
    engine_version: version.Version,
    api_version: version.ApiVersion,
    operating_system: info.OperatingSystem,
    kernel_version: info.KernelVersion,
    architecture: PLATFORMS[info.Architecture] ?? info.Architecture,
    cpus: info.NCPU,
    memory_bytes: info.MemTotal,
    disk_total_bytes: disk?.totalBytes ?? null,
    disk_free_bytes: disk?.freeBytes ?? null,
  };
}

/** Architectures by the kernel's names, mapped to those of images. */
const PLATFORMS: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64", armv7l: "arm" };

const sentenceOf = (error: unknown, otherwise: string) => (isDomainError(error) ? error.message : otherwise);

const noPrograms = (name: string, output: string) => {
  const [said = ""] = output.trim().split("\n");
  const words = said === "" ? "" : ` It says: ${said.slice(0, 200)}`;
  return `Server ${name} cannot run programs as its login. Give the login a shell such as /bin/sh.${words}`;
};

/** Docker sends a UUID or 59 characters. */
const ENGINE_ID_MAX = 200;
/** Swarm sends ids of 25 characters, and recommends at most 7 managers. */
const SWARM_TEXT_MAX = 255;
const SWARM_MANAGERS_MAX = 100;
const ENV = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
