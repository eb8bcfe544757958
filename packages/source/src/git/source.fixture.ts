import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDomainError } from "@berth/core";
import type { SourceFetcher, SourceSpec, WorkIO } from "@berth/core/ports";
import {
  createRepository,
  type GitServer,
  type GitServerOptions,
  startGitServer,
  type TestRepository,
} from "@berth/testing";
import { type SourceFetcherOptions, sourceFetcher } from "./fetcher.ts";

type GitSpec = Extract<SourceSpec, { type: "git" }>;

/** A repository, servers for it, and a fetcher with its own folder, for one test. */
export interface SourceBench {
  readonly base: string;
  /** `BASE/repos/app`, with the branch main and no commits. */
  readonly repository: TestRepository;
  /** Log lines of the fetcher. */
  readonly lines: string[];
  io(signal?: AbortSignal): WorkIO;
  /** A fetcher, always with the folder `BASE/sources`. */
  fetcher(options?: Partial<SourceFetcherOptions>): SourceFetcher;
  /** Source at the tip of the repository's main branch, by `file://`. */
  spec(fields?: Partial<GitSpec>): SourceSpec;
  /** Serves `BASE/repos` until the end of the test. */
  serve(options?: Partial<GitServerOptions>): Promise<GitServer>;
  close(): Promise<void>;
}

export function sourceBench(): SourceBench {
  const base = mkdtempSync(join(tmpdir(), "berth-git-"));
  const repository = createRepository(join(base, "repos", "app"));
  const lines: string[] = [];
  const servers: GitServer[] = [];
  return {
    base,
    repository,
    lines,
    io: (signal = new AbortController().signal) => ({ signal, onLine: (line) => void lines.push(line) }),
    fetcher: (options = {}) =>
      sourceFetcher({
        folder: join(base, "sources"),
        allowFileProtocol: true,
        allowedPrivateHosts: ["127.0.0.1"],
        ...options,
      }),
    spec: (fields = {}) => ({
      type: "git",
      repository: repository.url,
      branch: "main",
      commit: "HEAD",
      cacheOwner: "team 1",
      ...fields,
    }),
    async serve(options = {}) {
      const server = await startGitServer({ root: join(base, "repos"), ...options });
      servers.push(server);
      return server;
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** The error that work must end with. */
export async function errorOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isDomainError(error)) throw new Error("Expected a DomainError", { cause: error });
  return { code: error.code, message: error.message };
}

/** Every path below a folder, sorted. */
export const tree = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String).sort();
