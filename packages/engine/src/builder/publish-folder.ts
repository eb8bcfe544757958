import { lstat, readdir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { DomainError } from "@berth/core";
import { listNames, type PlannedRun } from "@berth/core/build";
import { folderInside } from "./facts.ts";
import { isWithin } from "./is-within.ts";

/**
 * Finds the folder to serve after the build.
 * @param release Real path. The result lies inside it, also after following links.
 * @param folder The base directory in it, real path.
 * @returns Path relative to `folder`.
 * @throws DomainError `deploy.build_failed`
 */
export async function findPublishFolder(
  release: string,
  folder: string,
  run: Extract<PlannedRun, { type: "static" }>,
): Promise<string> {
  const base = relative(release, folder);
  if (run.isExplicit) {
    const path = run.folders[0] ?? ".";
    return relative(folder, await insideRelease(release, `${base}/${path}`, path, folder)) || ".";
  }
  for (const pattern of run.folders) {
    for (const candidate of await matching(release, folder, pattern)) {
      if (!(await isFile(join(folder, candidate, "index.html")))) continue;
      return relative(folder, await folderInside(release, join(base, candidate), "publish_directory")) || ".";
    }
  }
  throw new DomainError(
    "deploy.build_failed",
    `No index.html to serve was found in ${run.folders.map((path) => (path === "." ? "/" : `/${path}`)).join(", ")}. ` +
      `The folder contains ${listNames(await namesIn(release, folder))}. Set publish_directory to the folder with the built files.`,
  );
}

async function insideRelease(release: string, path: string, asked: string, folder: string): Promise<string> {
  try {
    return await folderInside(release, path, "publish_directory");
  } catch (cause) {
    if (!(cause instanceof DomainError) || cause.message.includes("is outside of the source")) throw cause;
    const message = `The publish_directory ${asked} is not a folder after the build. The release contains ${listNames(await namesIn(release, folder))}. Correct it.`;
    throw new DomainError("deploy.build_failed", message, { cause });
  }
}

/**
 * Names for the message. The build may have replaced the folder by a link, so nothing outside the release is listed.
 */
async function namesIn(release: string, folder: string): Promise<string[]> {
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined || !isWithin(release, real)) return [];
  return readdir(real).catch(() => []);
}

/** Folders that match a pattern with at most one `*`, sorted. */
async function matching(release: string, folder: string, pattern: string): Promise<string[]> {
  const [before, after] = pattern.split("*");
  if (before === undefined || after === undefined) return [pattern];
  const names = await namesIn(release, join(folder, before));
  return names.sort().map((name) => join(before, name, after));
}

const isFile = (path: string): Promise<boolean> =>
  lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
