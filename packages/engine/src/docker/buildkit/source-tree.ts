import type { BigIntStats, Dirent } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as otherWork } from "node:timers/promises";
import type { Stat } from "./messages.ts";
import { type PatternMatch, type Patterns, patternsOf } from "./patterns.ts";

/** Include and exclude patterns of an engine's request. */
export interface Selection {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** Entries of a folder, each folder before its content, sorted by the bytes of the names. Links are not followed. */
export async function* sourceTree(root: string, { include, exclude }: Selection): AsyncGenerator<Stat, void> {
  const filter = {
    include: include.length === 0 ? undefined : patternsOf(include),
    exclude: exclude.length === 0 ? undefined : patternsOf(exclude),
  };
  yield* below({ root, filter }, "", []);
}

interface Walk {
  readonly root: string;
  readonly filter: { readonly include: Patterns | undefined; readonly exclude: Patterns | undefined };
}

interface Folder {
  readonly path: string;
  readonly include: PatternMatch | undefined;
  readonly exclude: PatternMatch | undefined;
  isTold: boolean;
}

async function* below(walk: Walk, way: string, parents: readonly Folder[]): AsyncGenerator<Stat, void> {
  const { root, filter } = walk;
  const parent = parents.at(-1);
  let since = performance.now();
  for (const entry of await namesIn(join(root, way))) {
    if (performance.now() - since > PIECE_MS_MAX) {
      await otherWork();
      since = performance.now();
    }
    // The protocol cannot send entries of these types.
    if (entry.isSocket() || entry.isCharacterDevice() || entry.isBlockDevice()) continue;
    const path = way === "" ? entry.name : `${way}/${entry.name}`;
    const include = filter.include?.match(path, parent?.include);
    const exclude = filter.exclude?.match(path, parent?.exclude);
    const isWanted = include?.isMatch !== false && exclude?.isMatch !== true;
    if (isWanted) {
      // A folder that is not selected itself is reported before the first selected entry below it.
      for (const folder of parents.filter(({ isTold }) => !isTold)) {
        yield await statOf(root, folder.path);
        folder.isTold = true;
      }
      yield await statOf(root, path);
    }
    if (!entry.isDirectory() || !mayHoldMore(filter, path, { include, exclude })) continue;
    yield* below(walk, path, [...parents, { path, include, exclude, isTold: isWanted }]);
  }
}

/** How long paths are compared with patterns until others are served. */
const PIECE_MS_MAX = 10;

function mayHoldMore(
  filter: Walk["filter"],
  path: string,
  { include, exclude }: Pick<Folder, "include" | "exclude">,
): boolean {
  if (include?.isMatch === false && !filter.include?.mayTurnBelow(path, include)) return false;
  return exclude?.isMatch !== true || filter.exclude?.mayTurnBelow(path, exclude) === true;
}

async function namesIn(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const byBytes = entries.map((entry) => ({ entry, bytes: Buffer.from(entry.name) }));
  return byBytes.sort((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ entry }) => entry);
}

async function statOf(root: string, path: string): Promise<Stat> {
  const file = join(root, path);
  const stats = await lstat(file, { bigint: true });
  return {
    path,
    mode: modeOf(stats),
    size: stats.isFile() ? String(stats.size) : 0,
    modTime: String(stats.mtimeNs),
    linkname: stats.isSymbolicLink() ? await readlink(file) : "",
  };
}

/** Only regular files have data to send. */
export const isRegular = ({ mode }: Stat): boolean => (mode & (GO_FOLDER | GO_LINK | GO_PIPE)) === 0;

/** Mode bits as in https://pkg.go.dev/io/fs#FileMode */
function modeOf(stats: BigIntStats): number {
  const mode = Number(stats.mode);
  let found = mode & 0o777;
  if (mode & 0o4000) found |= GO_SETUID;
  if (mode & 0o2000) found |= GO_SETGID;
  if (mode & 0o1000) found |= GO_STICKY;
  if (stats.isDirectory()) found |= GO_FOLDER;
  else if (stats.isSymbolicLink()) found |= GO_LINK;
  else if (stats.isFIFO()) found |= GO_PIPE;
  return found >>> 0;
}

const GO_FOLDER = 1 << 31;
const GO_LINK = 1 << 27;
const GO_PIPE = 1 << 25;
const GO_SETUID = 1 << 23;
const GO_SETGID = 1 << 22;
const GO_STICKY = 1 << 20;
