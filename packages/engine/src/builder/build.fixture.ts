import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { BuildConfig, BuildRequest, FolderArtifact } from "@berth/core/deploy";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { endGroup, type HostUser, isRoot, run } from "@berth/host";
import { SYSTEM_PATH } from "../process/environment.ts";
import { prepareRuntime } from "../process/runtime.ts";
import type { BuildPlace, ProcessBuilderOptions } from "./build-place.ts";
import { processBuilder } from "./process-builder.ts";

/** User that builds run as: an unused id when the tests run as root. */
export const USER: HostUser | undefined = isRoot() ? { uid: 61_234, gid: 61_234 } : undefined;

export interface GivenBuild {
  readonly files: Readonly<Record<string, string | { readonly link: string }>>;
  readonly config?: Partial<BuildConfig>;
  readonly env?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly options?: ProcessBuilderOptions;
}

/** Builds in the folders that the engine makes for one resource. */
export interface BuildBench {
  readonly base: string;
  /** PATH of the builds. */
  readonly path: string;
  /** The log of all builds. */
  readonly lines: string[];
  place(): BuildPlace;
  /** Runs each build as a new deployment. */
  build(given: GivenBuild): Promise<FolderArtifact>;
  /** Code and message of the error with which a build must end. */
  refusal(given: GivenBuild): Promise<string>;
  /** The uuid of the last deployment. */
  deploymentUuid(): string;
  /** Starts an artifact as the engine would, and returns what it answers on its port. */
  answerOf(artifact: FolderArtifact): Promise<string>;
  /** Lets the package manager itself write a lockfile, so that the repository contains no registry's address. */
  lockfile(packageJson: string, argv: readonly [string, ...string[]], name: string): Promise<string>;
  close(): void;
}

/** Node and the package managers, for all tests of a file; remove the folder at the end. */
export async function runtimeFolder(): Promise<{ readonly folder: string; readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  chmodSync(folder, 0o755);
  return { folder, path: `${(await prepareRuntime(folder)).bin}:${SYSTEM_PATH}` };
}

export function buildBench(path: string): BuildBench {
  const base = mkdtempSync(join(tmpdir(), "berth-build-"));
  chmodSync(base, 0o711);
  const lines: string[] = [];
  let count = 0;
  // A cancelled build ends processes with its uuid in their environment, so concurrent test files must not share
  // uuids.
  const deploymentUuid = () => `${basename(base)}-${count}`;

  function source(files: GivenBuild["files"]): string {
    const folder = join(base, "checkouts", `s${++count}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      if (typeof content === "string") writeFileSync(join(folder, name), content);
      else symlinkSync(content.link, join(folder, name));
    }
    return folder;
  }

  function own(name: string): string {
    const folder = join(base, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (USER !== undefined) chownSync(folder, USER.uid, USER.gid);
    return folder;
  }

  function place(): BuildPlace {
    mkdirSync(join(base, "releases"), { recursive: true, mode: 0o711 });
    const releaseFolder = own(`releases/${deploymentUuid()}`);
    const folders = { cacheFolder: own("cache"), home: own("home"), temporaryFolder: own("tmp") };
    return { resourceFolder: base, releaseFolder, ...folders, path, user: USER };
  }

  function build({ files, config, env = {}, signal, options }: GivenBuild): Promise<FolderArtifact> {
    const sourceFolder = source(files);
    const request: BuildRequest = {
      resourceUuid: "app",
      resourceNumber: 1,
      deploymentUuid: deploymentUuid(),
      sourceFolder,
      config: { ...CONFIG, ...config },
      env,
      isForced: false,
    };
    const io = { signal: signal ?? new AbortController().signal, onLine: (line: string) => void lines.push(line) };
    return processBuilder(options).build(request, io, place());
  }

  async function refusal(given: GivenBuild): Promise<string> {
    const error = await build(given).then(
      (artifact) => artifact,
      (reason: unknown) => reason,
    );
    if (isDomainError(error)) return `${error.code} ${error.message}`;
    throw new Error(`Expected a DomainError, got ${JSON.stringify(error)}`, { cause: error });
  }

  async function lockfile(packageJson: string, argv: readonly [string, ...string[]], name: string): Promise<string> {
    const folder = mkdtempSync(join(base, "lock-"));
    writeFileSync(join(folder, "package.json"), packageJson);
    const env = { PATH: path, HOME: folder, NODE_USE_SYSTEM_CA: "1" };
    const { exitCode, output } = await run(argv, { cwd: folder, env, timeoutSeconds: 60 });
    if (exitCode !== 0) throw new Error(output);
    return readFileSync(join(folder, name), "utf8");
  }

  return {
    base,
    path,
    lines,
    place,
    build,
    refusal,
    deploymentUuid,
    answerOf: (artifact) => answerOf(artifact, path, join(base, "home")),
    lockfile,
    close: () => rmSync(base, { recursive: true, force: true }),
  };
}

async function answerOf({ run: how, workingFolder }: FolderArtifact, path: string, home: string): Promise<string> {
  if (how.type !== "shell") throw new Error("It has no command");
  const port = await freePort();
  const ids = USER === undefined ? [] : [`--reuid=${USER.uid}`, `--regid=${USER.gid}`, "--clear-groups"];
  const child = spawn("/usr/bin/env", ["setpriv", ...ids, "/bin/sh", "-c", how.script], {
    cwd: workingFolder,
    env: { PATH: path, PORT: String(port), HOME: home },
    detached: true,
    stdio: "ignore",
  });
  try {
    for (const deadline = Date.now() + 15_000; Date.now() < deadline; await delay(50)) {
      const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
      if (response !== undefined) return await response.text();
    }
    throw new Error("It does not answer");
  } finally {
    if (child.pid !== undefined) await endGroup({ groupId: child.pid }, 2);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === "string") throw new Error("No port");
  return address.port;
}
