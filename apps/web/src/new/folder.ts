import ignore from "ignore";
import type { SourceFile } from "./tar.ts";

/** Never uploaded, since they belong to the machine and not to the source. */
const NEVER = new Set([".git", ".berth", "node_modules"]);
const IGNORE_FILES = [".gitignore", ".berthignore"];

export interface Folder {
  readonly name: string;
  readonly files: readonly SourceFile[];
  readonly bytes: number;
}

/** Files of a folder that was chosen in a dialog. */
export async function chosenFolder(list: FileList): Promise<Folder> {
  const files = [...list].map((file) => {
    const [, ...rest] = file.webkitRelativePath.split("/");
    return { path: rest.join("/"), file };
  });
  const name = list[0]?.webkitRelativePath.split("/")[0] ?? "folder";
  return kept(
    name,
    files.filter(({ path }) => !path.split("/").some((part) => NEVER.has(part))),
  );
}

/** Files of a dropped folder. @returns `undefined` for anything else. */
export async function droppedFolder(items: DataTransferItemList): Promise<Folder | undefined> {
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const [first] = entries;
  if (first === undefined) return undefined;
  if (entries.length === 1 && isFolder(first)) return kept(first.name, await filesBelow(first, ""));
  const files = await Promise.all(entries.map((entry) => filesOf(entry, "")));
  return kept("folder", files.flat());
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

async function filesOf(entry: FileSystemEntry, below: string): Promise<readonly SourceFile[]> {
  if (NEVER.has(entry.name)) return [];
  if (isFolder(entry)) return filesBelow(entry, `${below}${entry.name}/`);
  if (!isFile(entry)) return [];
  const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
  return [{ path: below + entry.name, file }];
}

async function filesBelow(folder: FileSystemDirectoryEntry, below: string): Promise<readonly SourceFile[]> {
  const reader = folder.createReader();
  const found: SourceFile[] = [];
  for (;;) {
    // Browsers return at most a hundred entries per call, and none at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const entry of entries) found.push(...(await filesOf(entry, below)));
  }
}

/** Removes files that the folder's own ignore files exclude. */
async function kept(name: string, files: readonly SourceFile[]): Promise<Folder> {
  const rules = ignore();
  for (const ignoreFile of IGNORE_FILES) {
    const found = files.find(({ path }) => path === ignoreFile);
    if (found !== undefined) rules.add(await found.file.text());
  }
  const own = files.filter(({ path }) => !rules.ignores(path));
  return { name, files: own, bytes: own.reduce((sum, { file }) => sum + file.size, 0) };
}
