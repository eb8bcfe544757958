import { randomUUID } from "node:crypto";
import { access, chmod, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import { guardedDownload, HttpFault, type PrivateHosts, run } from "@berth/host";
import { checksumOf } from "./checksum.ts";
import type { BuildTool, UsableTool } from "./tool.ts";

/**
 * Brings a build tool onto Berth's machine.
 * @param path PATH of the tool's own helpers.
 * @throws DomainError `deploy.build_failed` that says why it cannot be had
 */
export type ToolFetcher = (tool: BuildTool, io: WorkIO, path: string) => Promise<UsableTool>;

/** A published version of a build tool, and the SHA-256 of its archive by the processor as Node names it. */
export interface ToolRelease {
  readonly version: string;
  url(target: string): string;
  readonly archives: Readonly<Record<string, { readonly target: string; readonly sha256: string }>>;
}

const RELEASES: Readonly<Record<BuildTool["name"], ToolRelease>> = {
  nixpacks: {
    version: "1.41.0",
    url: (target) =>
      `https://github.com/railwayapp/nixpacks/releases/download/v1.41.0/nixpacks-v1.41.0-${target}.tar.gz`,
    archives: {
      x64: {
        target: "x86_64-unknown-linux-musl",
        sha256: "0f55de7874507b9cf7502113120bd96f2ab6979f78d10eaf2eb2ade9207b3af6",
      },
      arm64: {
        target: "aarch64-unknown-linux-musl",
        sha256: "912bd02dd2bb6f9c3a9ed965fe8a68b4aa318dc7a2546e2eca6f2806a894ba39",
      },
    },
  },
  railpack: {
    version: "0.40.1",
    url: (target) =>
      `https://github.com/railwayapp/railpack/releases/download/v0.40.1/railpack-v0.40.1-${target}.tar.gz`,
    archives: {
      x64: {
        target: "x86_64-unknown-linux-musl",
        sha256: "2842de93e68713af9037e0bc0a398d7da78f3b96aa4804303a638db2bc69bd30",
      },
      arm64: {
        target: "arm64-unknown-linux-musl",
        sha256: "c24a064b586b8f4f8c2fab44dd5ef19253e4c6cc4e1df793b3ae19cd87f7a5d4",
      },
    },
  },
};

export interface ToolFetcherOptions {
  /** Keeps the programs, one folder for each version. Only Berth may write there. */
  readonly folder: string;
  /** Default: the published ones, with the checksums that are written down here. */
  readonly releases?: Readonly<Record<BuildTool["name"], ToolRelease>>;
  /** Private hosts that releases may lie on. Default: none. */
  readonly privateHosts?: PrivateHosts;
}

/** Keeps what it has fetched. An archive with another checksum than the one that is written down here is not unpacked. */
export function toolFetcher(options: ToolFetcherOptions): ToolFetcher {
  const { folder, releases = RELEASES } = options;
  return async (tool, io, path) => {
    const release = releases[tool.name];
    const place = join(folder, `${tool.name}-${release.version}`);
    if (!(await exists(join(place, tool.name)))) await fetchTool({ tool, release, place, path }, options, io);
    // The program runs as another user.
    await chmod(folder, 0o711);
    await chmod(place, 0o755);
    return { tool, folder: place, path: `${place}:${path}`, version: release.version };
  };
}

interface WantedTool {
  readonly tool: BuildTool;
  readonly release: ToolRelease;
  /** The folder of this version. */
  readonly place: string;
  readonly path: string;
}

async function fetchTool(
  { tool: { name }, release, place, path }: WantedTool,
  { privateHosts = [] }: ToolFetcherOptions,
  io: WorkIO,
): Promise<void> {
  const archive = release.archives[process.arch];
  if (archive === undefined) throw failed(name, `it is not published for ${process.arch}`);
  const url = release.url(archive.target);
  const temporary = join(dirname(place), `.${randomUUID()}`);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  io.onLine(`Downloads ${url}`, "stdout");
  try {
    const file = join(temporary, "archive.tar.gz");
    const download = guardedDownload({
      allowedPrivateHosts: privateHosts,
      secondsMax: SECONDS_MAX,
      bytesMax: BYTES_MAX,
    });
    const { status } = await download(url, file, { signal: io.signal });
    if (status < 200 || status > 299) throw failed(name, `${new URL(url).host} answered ${status}`);
    if ((await checksumOf(file)) !== archive.sha256) throw failed(name, "its checksum is another one than Berth knows");
    const argv = [
      "tar",
      "--extract",
      "--gzip",
      "--no-same-owner",
      "--file",
      file,
      "--directory",
      temporary,
      name,
    ] as const;
    const { exitCode } = await run(argv, { env: { PATH: path }, timeoutSeconds: SECONDS_MAX });
    if (exitCode !== 0) throw failed(name, "its archive cannot be unpacked");
    await chmod(join(temporary, name), 0o755);
    await rm(file);
    await rm(place, { recursive: true, force: true });
    await rename(temporary, place);
  } catch (cause) {
    throw cause instanceof HttpFault ? failed(name, cause.message.replace(/\.$/, ""), cause) : cause;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

const failed = (name: string, reason: string, cause?: unknown): DomainError =>
  new DomainError("deploy.build_failed", `${name}, which knows more kinds of projects, cannot be fetched: ${reason}.`, {
    cause,
  });

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const SECONDS_MAX = 120;
const BYTES_MAX = 100 * 1024 ** 2;
