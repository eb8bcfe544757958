import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import { type GuardedDownload, guardedDownload, HttpFault, type PrivateHosts } from "@berth/host";
import type { SourceOp } from "../buildkit/messages.ts";
import type { FetchedSource, SourceGuard } from "../buildkit/plan.ts";
import { type BuildTarget, isImageContext, isRemoteContext } from "./build-target.ts";
import { checksumOf } from "./checksum.ts";

/** For builds on an engine that shares Berth's network: downloads by URL go through Berth's dialer. */
export interface BuildGuard {
  readonly privateHosts: PrivateHosts;
  /** A folder for this build alone, on Berth's machine. */
  readonly folder: string;
}

/**
 * The target with the frontend that its Dockerfile names, so that the engine does not choose one itself.
 * @throws DomainError `deploy.build_failed` for a frontend or a context that could fetch without Berth's checks
 */
export async function guardedTarget(target: BuildTarget): Promise<BuildTarget> {
  for (const context of [target.context, ...Object.values(target.more?.contexts ?? {})]) {
    if (isRemoteContext(context) && !isImageContext(context)) {
      throw refused(`The build context ${shownUrl(context)} is a URL`, "Put its files into the repository");
    }
  }
  const syntax = target.args.BUILDKIT_SYNTAX?.trim() || syntaxOf(await readFile(target.dockerfile, "utf8"));
  const [frontend = ""] = syntax?.split(" ") ?? [];
  if (syntax === undefined) return { ...target, usesOwnFrontend: true };
  if (TRUSTED_FRONTEND.test(frontend)) return { ...target, args: { ...target.args, BUILDKIT_SYNTAX: syntax } };
  const what = `The Dockerfile's syntax ${frontend.slice(0, 200)} is a program that would run inside of the engine`;
  throw refused(what, "Use docker/dockerfile, or leave the syntax out");
}

/** The frontend in the Dockerfile's leading comments, found as BuildKit finds it. */
function syntaxOf(text: string): string | undefined {
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    const [, name, value] = /^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (name === undefined) return undefined;
    if (name.toLowerCase() === "syntax") return value;
  }
  return undefined;
}

/** Frontends by Docker and Railway, which fetch only images while they plan. */
const TRUSTED_FRONTEND =
  /^((docker\.io\/)?docker\/dockerfile(-upstream)?|ghcr\.io\/railwayapp\/railpack-frontend)([:@][\w.:-]+)?$/;

/** Downloads the HTTP sources of a plan, and refuses sources that neither Berth nor the engine may fetch. */
export function sourceGuard({ privateHosts, folder }: BuildGuard, io: WorkIO): SourceGuard {
  return async (sources, signal) => {
    const fetched: FetchedSource[] = [];
    let bytesLeft = BYTES_MAX;
    for (const source of sources) {
      const { identifier } = source;
      if (/^(docker-image|local|oci-layout):\/\//.test(identifier)) continue;
      if (!/^https?:\/\//.test(identifier)) {
        throw refused(`The build would fetch ${shownUrl(identifier)}`, "Put its files into the repository");
      }
      const download = guardedDownload({
        allowedPrivateHosts: privateHosts,
        secondsMax: SECONDS_MAX,
        bytesMax: bytesLeft,
      });
      io.onLine(`Downloads ${shownUrl(identifier)}`, "stdout");
      const place = join(folder, `fetched-${randomUUID()}`);
      await mkdir(place, { mode: 0o700 });
      bytesLeft -= await fetchFile(download, source, place, signal);
      fetched.push({ source, folder: { path: place } });
    }
    return fetched;
  };
}

/** Sets name, mode and time like BuildKit, which includes them in a step's cache key. */
async function fetchFile(
  download: GuardedDownload,
  { identifier, attrs }: SourceOp,
  folder: string,
  signal: AbortSignal,
): Promise<number> {
  const name = attrs["http.filename"] ?? "";
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw failed(identifier, "its address does not end with the name of a file");
  }
  const file = join(folder, name);
  const url = new URL(identifier);
  const login =
    url.username === ""
      ? {}
      : { authorization: `Basic ${btoa(decodeURIComponent(`${url.username}:${url.password}`))}` };
  Object.assign(url, { username: "", password: "", hash: "" });
  const { status, modified, sizeBytes } = await download(url, file, { headers: login, signal }).catch(
    (cause: unknown) => {
      throw cause instanceof HttpFault ? failed(identifier, cause.message.replace(/\.$/, ""), cause) : cause;
    },
  );
  if (status < 200 || status > 299) throw failed(identifier, `its host answered ${status}`);
  const wanted = attrs["http.checksum"];
  if (wanted !== undefined && wanted !== `sha256:${await checksumOf(file)}`)
    throw failed(identifier, "its checksum is another one");
  const time = modified ?? new Date(0);
  await chmod(file, Number.parseInt(attrs["http.perm"] ?? "", 8) || 0o600);
  await utimes(file, time, time);
  return sizeBytes;
}

/** Without a login and what follows the path. */
const shownUrl = (url: string): string =>
  url
    .replace(/\/\/[^/@]*@/, "//")
    .replace(/[?#].*$/s, "")
    .slice(0, 300);

const failed = (url: string, reason: string, cause?: unknown): DomainError =>
  new DomainError("deploy.build_failed", `${shownUrl(url)} could not be downloaded: ${reason}.`, { cause });

const refused = (what: string, remedy: string): DomainError =>
  new DomainError(
    "deploy.build_failed",
    `${what}, and Berth's own machine does not fetch that. ${remedy}, or build on another server.`,
  );

const SECONDS_MAX = 600;
const BYTES_MAX = 2 * 1024 ** 3; // Total of all downloads of a build.
