import { DomainError } from "@berth/core";

/** Limits of an archive; more is refused with `request.too_large`. */
export interface ArchiveLimits {
  readonly entries: number;
  /** Size of all files together, unpacked. */
  readonly unpackedBytes: number;
}

/** An entry as the tar parser returns it: names decoded, extended headers applied. */
export interface ArchiveEntry {
  readonly type: string;
  readonly path: string;
  readonly linkpath?: string | undefined;
  readonly size: number;
}

/**
 * Checks an archive entry by entry, so that it can affect nothing outside its folder: neither while it is unpacked nor
 * when someone follows its links later.
 */
export interface EntryChecker {
  /** @throws DomainError `source.invalid` naming the entry, `request.too_large` */
  accept(entry: ArchiveEntry): void;
  /**
   * Checks that need the whole archive.
   * @throws DomainError `source.invalid` for an empty archive, and for a link that leaves the folder.
   */
  finish(): ArchiveContent;
}

export interface ArchiveContent {
  /** Paths of the regular files, without `./`. */
  readonly files: ReadonlyMap<string, { readonly sizeBytes: number }>;
  readonly unpackedBytes: number;
}

const FILE_TYPES = ["File", "OldFile", "ContiguousFile"];
const PATH_LENGTH_MAX = 4096; // PATH_MAX of Linux.
const PATH_DEPTH_MAX = 128; // Far more than projects need.
const LINKS_MAX = 10_000;
const LINK_HOPS_MAX = 40; // Linux's limit: beyond it, following a link fails with ELOOP.
const NAMES_LENGTH_MAX = 32 << 20; // Total for all entries, since all names are kept in memory.

/** A name in the tree. Paths share the nodes of their folders, so a long path costs no more than its last name. */
interface Node {
  readonly parent: Node | undefined;
  children?: Map<string, Node>;
  isFolder?: boolean;
  /** Target of the symbolic link. */
  link?: string;
  /** Result of following the link; `nowhere` for a circle. */
  end?: Node | "following" | "nowhere";
}

export function entryChecker(limits: ArchiveLimits): EntryChecker {
  const files = new Map<string, { sizeBytes: number }>();
  const root: Node = { parent: undefined, isFolder: true };
  const links = new Map<string, Node>();
  let entries = 0;
  let folders = 0;
  let namesLength = 0;
  let unpackedBytes = 0;

  function count(path: string, linkpath: string | undefined): void {
    entries += 1;
    if (entries > limits.entries) throw tooLarge(`more than ${limits.entries} entries`);
    namesLength += path.length + (linkpath?.length ?? 0);
    if (namesLength > NAMES_LENGTH_MAX) throw tooLarge(`more than ${NAMES_LENGTH_MAX} characters of file names`);
  }

  function markFolder(node: Node): void {
    if (node.isFolder) return;
    node.isFolder = true;
    folders += 1;
    if (folders > limits.entries) throw tooLarge(`more than ${limits.entries} folders`);
  }

  function nodeOf(parts: readonly string[], shown: string): Node {
    let node = root;
    for (const part of parts) {
      if (node.link !== undefined) throw bad(shown, "lies behind a symbolic link");
      markFolder(node);
      node = childOf(node, part);
    }
    return node;
  }

  function accept({ type, path, linkpath, size }: ArchiveEntry): void {
    const parts = partsOf(path);
    count(path, linkpath);
    const name = parts.join("/");
    const node = nodeOf(parts, path);
    if (type === "Directory") {
      if (node.link !== undefined) throw bad(path, "is a folder and a symbolic link at once");
      markFolder(node);
      return;
    }
    if (name === "") throw bad(path, "has no name");
    if (type === "SymbolicLink") {
      const target = targetOf(path, linkpath);
      // It leaves the folder by itself; combinations with other links are checked at the end.
      if (climbs(parts.length - 1, target)) throw leaving(path, target);
      node.link = target;
      links.set(name, node);
      if (links.size > LINKS_MAX) throw tooLarge(`more than ${LINKS_MAX} symbolic links`);
      files.delete(name);
      return;
    }
    if (node.link !== undefined) throw bad(path, "is a file and a symbolic link at once");
    if (type === "Link") {
      // A hard link may only refer to an earlier file of this archive.
      const target = partsOf(linkpath ?? "").join("/");
      const file = files.get(target);
      if (file === undefined) throw bad(path, "is a hard link whose target is not in the archive");
      files.set(name, file);
      return;
    }
    if (!FILE_TYPES.includes(type)) throw bad(path, `is neither file, folder nor link (${type})`);
    unpackedBytes += size;
    if (unpackedBytes > limits.unpackedBytes) throw tooLarge(`more than ${limits.unpackedBytes} bytes of files`);
    files.set(name, { sizeBytes: size });
  }

  function finish(): ArchiveContent {
    if (entries === 0)
      throw new DomainError("source.invalid", "The archive contains no files. Pack the folder itself.");
    for (const [name, node] of links) {
      if (node.isFolder) throw bad(name, "is a folder and a symbolic link at once");
      follow(node, name, 1);
    }
    return { files, unpackedBytes };
  }

  return { accept, finish };
}

function childOf(node: Node, name: string): Node {
  node.children ??= new Map();
  const known = node.children.get(name);
  if (known !== undefined) return known;
  const child: Node = { parent: node };
  node.children.set(name, child);
  return child;
}

/** Whether a relative target, by itself, leads above the archive's folder from this depth. */
function climbs(depth: number, target: string): boolean {
  let place = depth;
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue;
    place += part === ".." ? -1 : 1;
    if (place < 0) return true;
  }
  return false;
}

/**
 * Follows a link and every link on its path; each is followed once and its result stored. All targets are relative. A
 * link to nothing or in a circle stays inside.
 * @throws DomainError `source.invalid` when the path ever leads above the archive's folder.
 */
function follow(link: Node, shown: string, hops: number): Node | "following" | "nowhere" {
  if (link.end !== undefined) return link.end;
  if (hops > LINK_HOPS_MAX) throw bad(shown, `is a symbolic link through more than ${LINK_HOPS_MAX} others`);
  link.end = "following";
  link.end = walk(link, shown, hops);
  return link.end;
}

function walk(link: Node, shown: string, hops: number): Node | "nowhere" {
  let place = link.parent;
  for (const part of (link.link ?? "").split("/")) {
    if (part === "" || part === ".") continue;
    // Paths that are no entries also count: they contain no links, but `..` leads up from them.
    let next: Node | undefined = part === ".." ? place?.parent : (place?.children?.get(part) ?? { parent: place });
    if (next?.link !== undefined) {
      const end = follow(next, shown, hops + 1);
      if (end === "following" || end === "nowhere") return "nowhere";
      next = end;
    }
    if (next === undefined) throw leaving(shown, link.link);
    place = next;
  }
  return place ?? "nowhere";
}

function partsOf(path: string): string[] {
  if (path.startsWith("/")) throw bad(path, "has an absolute path");
  if (path.length > PATH_LENGTH_MAX) throw bad(path, "has a path that is too long");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL byte ends a name early for the kernel.
  if (/\u0000/.test(path)) throw bad(path, "has a NUL byte in its name");
  // The unpacking library treats these as Windows paths and rewrites them.
  if (/^([A-Za-z]:|\\)/.test(path)) throw bad(path, "begins like a Windows path");
  if (path.split(/[/\\]/).includes("..")) throw bad(path, "has .. in its path");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length > PATH_DEPTH_MAX) throw bad(path, `lies more than ${PATH_DEPTH_MAX} folders deep`);
  return parts;
}

function targetOf(path: string, target: string | undefined): string {
  if (target === undefined || target === "") throw bad(path, "is a symbolic link to nothing");
  if (target.length > PATH_LENGTH_MAX) throw bad(path, "is a symbolic link with a target that is too long");
  if (/^(\/|[A-Za-z]:|\\)/.test(target)) throw leaving(path, target);
  return target;
}

const leaving = (path: string, target: string | undefined) =>
  bad(path, `is a symbolic link that leaves the folder: ${target}`);

const bad = (path: string, problem: string) =>
  new DomainError("source.invalid", `The entry "${shown(path)}" ${shown(problem)}. Remove it and deploy again.`);

const shown = (text: string) => {
  const clean = text.replace(/\p{C}/gu, "?");
  return clean.length > 200 ? `${clean.slice(0, 200)}...` : clean;
};

const tooLarge = (what: string) =>
  new DomainError("request.too_large", `The source contains ${what}. Leave out what is not needed, like node_modules.`);
