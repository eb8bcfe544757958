import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FolderArtifact, ReleaseRef, ReleaseSpec, RunCommand } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import type { ProcessBuilder } from "../builder/build-place.ts";
import { type ProcessEngine, type ProcessEngineOptions, processEngine } from "./engine.ts";
import { PROCESS_SETTINGS } from "./settings.ts";

/** Restarts at once, so that tests need not wait. */
export const FAST_SETTINGS: NonNullable<ProcessEngineOptions["settings"]> = {
  restart: { ...PROCESS_SETTINGS.restart, delayMsMin: 20, delayMsMax: 200 },
};

/** A data folder that several engines use one after the other. */
export interface ProcessWorld {
  /** Other users can pass through it, as in production. */
  readonly root: string;
  readonly dataFolder: string;
  readonly warnings: unknown[];
  engine(options?: Partial<ProcessEngineOptions>): ProcessEngine;
  /** Removes everything; close the engines before. */
  remove(): void;
}

/** @param runtimeFolder Shared by all tests of a file, since preparing it takes half a second. */
export function processWorld(runtimeFolder: string, parent?: string): ProcessWorld {
  const root = temporaryFolder("berth-process-", parent);
  const dataFolder = join(root, "apps");
  const warnings: unknown[] = [];
  const warn = (message: string, cause: unknown) => void warnings.push([message, cause]);
  return {
    root,
    dataFolder,
    warnings,
    engine: (options) =>
      processEngine({ dataFolder, runtimeFolder, builder: fileBuilder({}), settings: FAST_SETTINGS, warn, ...options }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

export function temporaryFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  chmodSync(folder, 0o711);
  return folder;
}

/** "Builds" by writing files. */
export function fileBuilder(files: Readonly<Record<string, string>>): ProcessBuilder {
  return {
    async build(_request, _io, { releaseFolder, user }) {
      for (const [name, text] of Object.entries(files)) {
        const path = join(releaseFolder, name);
        const folder = dirname(path);
        mkdirSync(folder, { recursive: true });
        writeFileSync(path, text);
        if (user !== undefined) for (const made of [path, folder]) chownSync(made, user.uid, user.gid);
      }
      return shellArtifact(releaseFolder, "true");
    },
  };
}

const shellArtifact = (folder: string, script: string): FolderArtifact => ({
  type: "folder",
  folder,
  workingFolder: folder,
  run: { type: "shell", script },
  detected: "test",
});

export const io = (signal: AbortSignal = new AbortController().signal): WorkIO => ({ signal, onLine() {} });

let deployments = 0;

/** Unique within a test run, on all workers. */
export function newRef(resourceUuid = "app"): ReleaseRef {
  deployments++;
  return { resourceUuid, deploymentUuid: `d${process.pid}-${deployments}` };
}

export interface SpecOptions extends Partial<Pick<ReleaseSpec, "env" | "ports" | "storages" | "limits" | "name">> {
  readonly ref?: ReleaseRef;
  readonly resourceNumber?: number;
  readonly files?: Readonly<Record<string, string>>;
  /** A shell script, or a command. */
  readonly run: string | RunCommand;
}

/** Builds `files` for a release, and returns the spec to start it. */
export async function builtSpec(
  world: ProcessWorld,
  engine: ProcessEngine,
  options: SpecOptions,
): Promise<ReleaseSpec> {
  const { ref = newRef(), resourceNumber = 1, files = {}, run, ...rest } = options;
  const artifact = await engine.build(
    {
      ...ref,
      resourceNumber,
      sourceFolder: world.root,
      config: CONFIG,
      env: {},
      isForced: false,
    },
    io(),
  );
  if (artifact.type !== "folder") throw new Error("The process engine builds folders.");
  // The engine has only one builder, so the files of each test are written here.
  await fileBuilder(files).build(
    { ...ref, resourceNumber, sourceFolder: world.root, config: CONFIG, env: {}, isForced: false },
    io(),
    { ...NO_PLACE, releaseFolder: artifact.folder, user: ownerOf(resourceNumber) },
  );
  return {
    ...ref,
    resourceNumber,
    kind: "application",
    name: "test",
    artifact: { ...artifact, run: typeof run === "string" ? { type: "shell", script: run } : run },
    env: {},
    ports: [3000],
    storages: [],
    limits: { memoryBytes: null, cpus: null },
    ...rest,
  };
}

function ownerOf(resourceNumber: number) {
  const id = PROCESS_SETTINGS.uidBase + resourceNumber;
  return process.getuid?.() === 0 ? { uid: id, gid: id } : undefined;
}

const NO_PLACE = { resourceFolder: "", cacheFolder: "", home: "", temporaryFolder: "", path: "" };
