import { constants } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { DomainError } from "@berth/core";
import { listNames } from "@berth/core/build";
import type { BuildConfig } from "@berth/core/deploy";
import { isWithin } from "../../builder/is-within.ts";

/** A Dockerfile to build from, the repository's or a generated one. */
export interface DockerfileSource {
  readonly text: string;
  /** Content of `<name>.dockerignore`; `undefined`: the context's `.dockerignore` applies. */
  readonly ignore: string | undefined;
}

/**
 * The Dockerfile stored in the settings, or the one at its location in the repository.
 * @param root The whole source, real path.
 * @param folder The base directory in it, real path.
 * @throws DomainError `deploy.build_failed` when it is not a file, or leaves the source by `..` or by a link.
 */
export async function dockerfileOf(root: string, folder: string, config: BuildConfig): Promise<DockerfileSource> {
  if (config.dockerfile !== null && config.dockerfile.trim() !== "") {
    return { text: config.dockerfile, ignore: undefined };
  }
  const location = config.dockerfile_location ?? "/Dockerfile";
  const file = await fileInside(root, folder, location);
  const text = await readText(file);
  if (text === undefined) throw refused(location, "is not a readable file. Correct dockerfile_location");
  const ignoreFile = join(dirname(file), `${basename(file)}.dockerignore`);
  return { text, ignore: await readText(ignoreFile) };
}

async function fileInside(root: string, folder: string, location: string): Promise<string> {
  const wanted = join(folder, location.includes("\0") ? "\0" : location);
  if (location.includes("\0") || !isWithin(root, wanted)) throw refused(location, LEADS_OUT);
  const real = await realpath(wanted).catch(() => undefined);
  if (real === undefined || !(await lstat(real)).isFile()) {
    const names = listNames(await readdir(folder).catch(() => []));
    const way = relative(root, folder);
    throw refused(
      location,
      `is not a file of the source: /${way} contains ${names}. Correct dockerfile_location or base_directory`,
    );
  }
  if (!isWithin(root, real)) throw refused(location, LEADS_OUT);
  return real;
}

const LEADS_OUT = "is outside of the source. Name a file inside it";

const refused = (location: string, problem: string): DomainError =>
  new DomainError("deploy.build_failed", `The Dockerfile ${location.replace(/\p{C}/gu, "?")} ${problem}.`);

const TEXT_BYTES_MAX = 1 << 20;

/** Content of a regular file; `undefined` for anything else. Links are not followed, pipes not waited for. */
async function readText(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > TEXT_BYTES_MAX) return undefined;
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}
