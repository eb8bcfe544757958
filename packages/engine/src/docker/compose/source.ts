import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { join, posix } from "node:path";
import { DomainError } from "@berth/core";
import { type Compose, interpolated, recordOf } from "@berth/core/compose";
import type { StackFile } from "@berth/core/deploy";
import { composeEnvFile } from "@berth/core/env";
import { isWithin } from "../../builder/is-within.ts";
import { sharedPath } from "./document.ts";
import type { MountedFile } from "./source-image.ts";
import { pairsOf } from "./values.ts";

/** Where the files of a compose file lie. Real paths. */
export interface StackSource {
  readonly root: string;
  /** Folder of the compose file; relative paths begin there. */
  readonly folder: string;
}

export interface PreparedStack {
  /** The compose file with the content of other files filled in. References to variables remain. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly files: readonly StackFile[];
  /** Files that are too large for the artifact, and are sent to the server as an image. */
  readonly sent: readonly MountedFile[];
}

/**
 * Adds the content of other files to a compose file: variables from env files, and mounted files, since the source no
 * longer exists when a release is started again.
 * @param source `undefined`: the compose file has no repository.
 * @param variables Values for references in paths.
 */
export async function prepareStack(
  compose: Compose,
  source: StackSource | undefined,
  variables: Readonly<Record<string, string>>,
): Promise<PreparedStack> {
  const files: MountedFile[] = [];
  const services: [string, unknown][] = [];
  const read = boundedReader();
  for (const [name, service] of Object.entries(compose.document.services)) {
    const { env_file, label_file, build: _, ...rest } = service;
    const said = Object.fromEntries((compose.environments.get(name) ?? []).map(({ key, value }) => [key, value]));
    const ofFiles = await variablesOf({ source, read }, name, interpolated(env_file, variables));
    const labels = await variablesOf({ source, read }, name, interpolated(label_file, variables));
    const environment = { ...ofFiles.entries, ...said };
    services.push([
      name,
      {
        ...rest,
        ...(service.image || service.build == null ? {} : { image: name }),
        environment,
        ...(ofFiles.isMissing ? { env_file: [ENV_FILE] } : {}),
        ...(label_file == null ? {} : { labels: { ...labels.entries, ...pairsOf(service.labels) } }),
      },
    ]);
    if (source !== undefined) files.push(...(await filesOf(compose, source, name, variables)));
  }
  return { document: { ...compose.document, services: Object.fromEntries(services) }, ...(await carried(files)) };
}

interface FileVariables {
  readonly entries: Readonly<Record<string, string>>;
  /** Whether a named file is not in the source; the resource's own variables then take its place. */
  readonly isMissing: boolean;
}

interface Files {
  readonly source: StackSource | undefined;
  readonly read: typeof readText;
}

async function variablesOf({ source, read }: Files, name: string, said: unknown): Promise<FileVariables> {
  let entries: Readonly<Record<string, string>> = {};
  let isMissing = false;
  for (const item of [said ?? []].flat()) {
    const { path = item, required, format } = recordOf(item);
    const found = source && (await insideSource(source, String(path)));
    if (found === undefined) {
      const isExpected = source !== undefined && required !== false && posix.basename(String(path)) !== ENV_FILE;
      if (isExpected) throw refused(`services.${name}: File ${shown(path)} is not in the source.`);
      isMissing = true;
      continue;
    }
    const text = await read(found, path);
    entries = { ...entries, ...Object.fromEntries(composeEnvFile(text, { isRaw: format === "raw" })) };
  }
  return { entries, isMissing };
}

/** Limits the total length, since many services may name the same file and each gets a copy. */
function boundedReader(): typeof readText {
  let length = 0;
  return async (file, path) => {
    const text = await readText(file, path);
    length += text.length;
    if (length <= VARIABLES_LENGTH_MAX) return text;
    throw refused(`Its env files exceed ${VARIABLES_LENGTH_MAX} characters for all services together.`);
  };
}

async function filesOf(
  compose: Compose,
  source: StackSource,
  container: string,
  variables: Readonly<Record<string, string>>,
): Promise<readonly MountedFile[]> {
  const service = compose.document.services[container] ?? {};
  const read = compose.containers.find(({ name }) => name === container);
  const mounted = (read?.volumes ?? []).flatMap(({ hostPath, content, mountPath }) =>
    hostPath === null || content !== null || !/^\.{1,2}(\/|$)/.test(hostPath) ? [] : [{ path: hostPath, mountPath }],
  );
  const shared = (["configs", "secrets"] as const).flatMap((section) =>
    [service[section] ?? []].flat().flatMap((entry) => {
      const { source: key = entry } = recordOf(entry);
      const { file } = recordOf(recordOf(compose.document[section])[String(key)]);
      return typeof file === "string" ? [{ path: file, mountPath: sharedPath(section, entry), isRequired: true }] : [];
    }),
  );
  const files: MountedFile[] = [];
  for (const { path, mountPath, ...more } of [...mounted, ...shared]) {
    const found = await insideSource(source, String(interpolated(path, variables)));
    if (found === undefined && "isRequired" in more) throw refused(`File ${shown(path)} is not in the source.`);
    // A folder that is not in the source starts empty.
    if (found === undefined) continue;
    const target = String(interpolated(mountPath, variables));
    // Large files are laid out on Berth's machine by their targets, before they are sent to the server.
    if (target.split("/").includes("..") || target.includes("\0")) {
      throw refused(`services.${container}: The target ${shown(target)} must be a path without "..".`);
    }
    for (const file of await treeOf(found, target)) {
      const isProgram = ((await lstat(file.path)).mode & 0o100) !== 0;
      files.push({ container, ...file, mode: isProgram ? 0o755 : 0o644 });
    }
  }
  return files;
}

interface TreeFile {
  readonly path: string;
  readonly mountPath: string;
}

/** Leaves out links and special files, which have no meaning on another machine. */
async function treeOf(path: string, mountPath: string): Promise<readonly TreeFile[]> {
  const stats = await lstat(path);
  if (stats.isFile()) return [{ path, mountPath }];
  if (!stats.isDirectory()) return [];
  const names = (await readdir(path)).filter((name) => name !== ".git").sort();
  const all: TreeFile[] = [];
  for (const name of names) all.push(...(await treeOf(join(path, name), posix.join(mountPath, name))));
  return all;
}

/** @throws DomainError `deploy.build_failed` when the files are too large to send to a server */
async function carried(files: readonly MountedFile[]): Promise<Pick<PreparedStack, "files" | "sent">> {
  let bytes = 0;
  for (const { path } of files) bytes += (await lstat(path)).size;
  if (bytes > SENT_BYTES_MAX) {
    const sentence = `What the compose file mounts from the source is larger than ${SENT_BYTES_MAX / 2 ** 30} GiB. Keep it in a volume or an image instead.`;
    throw refused(sentence);
  }
  const isSent = bytes > WRITTEN_BYTES_MAX || files.length > WRITTEN_FILES_MAX;
  const written = files.map(async ({ container, path, mountPath, mode }): Promise<StackFile> => {
    const content = isSent ? null : (await readFile(path)).toString("base64");
    return { container, mountPath, content, mode };
  });
  return { files: await Promise.all(written), sent: isSent ? files : [] };
}

/**
 * `undefined`: it does not exist. @throws DomainError `deploy.build_failed` for a path outside the source, also by a
 * link.
 */
export async function insideSource({ root, folder }: StackSource, path: string): Promise<string | undefined> {
  const wanted = join(folder, path.includes("\0") ? "\0" : path);
  const isInside = !path.includes("\0") && !path.startsWith("/") && isWithin(root, wanted);
  const real = isInside ? await realpath(wanted).catch(() => undefined) : undefined;
  if (!isInside || (real !== undefined && !isWithin(root, real))) {
    throw refused(`The path ${shown(path)} is outside of the source.`);
  }
  return real;
}

export async function readText(file: string, path: unknown): Promise<string> {
  const stats = await lstat(file);
  if (!stats.isFile() || stats.size > TEXT_BYTES_MAX) throw refused(`${shown(path)} is not a text file of the source.`);
  return await readFile(file, "utf8");
}

const refused = (sentence: string) =>
  new DomainError("deploy.build_failed", `The compose file cannot be used: ${sentence}`);

const shown = (path: unknown): string => String(path).slice(0, 200).replace(/\p{C}/gu, "?");

const ENV_FILE = ".env";
const TEXT_BYTES_MAX = 1 << 20;
const VARIABLES_LENGTH_MAX = 4 << 20; // All variables together must fit into one compose file.
/** These files are stored in the release's record. */
const WRITTEN_BYTES_MAX = 4 << 20;
const WRITTEN_FILES_MAX = 1000;
const SENT_BYTES_MAX = 4 * 2 ** 30;
