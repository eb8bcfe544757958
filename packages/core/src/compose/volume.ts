import type { ComposeService } from "./schema.ts";

export interface ComposeVolume {
  /** Name of the volume; `null` for a folder or file of the server. */
  readonly name: string | null;
  /** Path on the server; `null` for a named volume. Relative paths are below the service's own folder. */
  readonly hostPath: string | null;
  readonly mountPath: string;
  readonly isReadOnly: boolean;
  /** Content of a file that is defined in the compose file itself. */
  readonly content: string | null;
  readonly isDirectory: boolean;
}

type Volume = NonNullable<ComposeService["volumes"]>[number];

/** A source that is a single variable, optionally with a path after it. */
const VARIABLE_SOURCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::?-[^${}]*)?\}(?:\/[^${}]*)?$/;

/** Persistent mounts; anonymous volumes and tmpfs are left out. */
export function volumesOf(volumes: readonly Volume[]): readonly ComposeVolume[] {
  return volumes.flatMap((volume) => {
    const read = typeof volume === "string" ? short(volume) : long(volume);
    return read === undefined ? [] : [read];
  });
}

/** `./data/a` becomes `.data.a`, since names of volumes may contain only letters, digits and `_.-`. */
export const folderName = (path: string): string =>
  path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .map((part) => `.${part.replace(/[^A-Za-z0-9_-]/g, "-")}`)
    .join("");

/** The problem of a source or target as a sentence; `undefined` when valid. */
export function volumeProblem(volume: Volume): string | undefined {
  const [source, target] = endsOf(volume);
  if (source !== undefined && !VARIABLE_SOURCE.test(source) && isDangerous(source)) return `source ${quoted(source)}`;
  return isDangerous(target.replace(REFERENCE, "")) ? `target ${quoted(target)}` : undefined;
}

/** A variable, optionally with a default or message. */
const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*(?::?[-?+][^${}`|&;<>\r\n\t]*)?\}/g;

/** Characters that begin something else in a shell. */
export const isDangerous = (text: string): boolean => /[`|&;<>\r\n\t]|\$[({]/.test(text);

const quoted = (text: string): string => `'${text.slice(0, 100).replace(/\p{C}/gu, "?")}'`;

/** Path in the container. */
export const mountPathOf = (volume: Volume): string => endsOf(volume)[1];

function endsOf(volume: Volume): readonly [string | undefined, string] {
  if (typeof volume !== "string") return [volume.source ?? undefined, volume.target];
  const [first = "", second] = partsOf(volume);
  return second === undefined ? [undefined, first] : [first, second];
}

/** Splits at colons outside of `${...}`, in one pass however many of these are open. */
function partsOf(text: string): readonly string[] {
  const lastBrace = text.lastIndexOf("}");
  const parts: string[] = [];
  let begin = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < lastBrace && text.startsWith("${", at)) at = text.indexOf("}", at);
    else if (at === text.length || text[at] === ":") {
      if (at > begin) parts.push(text.slice(begin, at));
      begin = at + 1;
    }
  }
  return parts;
}

function short(text: string): ComposeVolume | undefined {
  const [source, target, mode] = partsOf(text);
  if (source === undefined || target === undefined) return undefined;
  const isReadOnly = mode?.split(",").includes("ro") ?? false;
  const isPath = /^[./~$]/.test(source);
  return {
    name: isPath ? null : source,
    hostPath: isPath ? source : null,
    mountPath: target,
    isReadOnly,
    content: null,
    isDirectory: false,
  };
}

const NO_FOLDER: ReadonlySet<string> = new Set(["tmpfs", "image", "cluster", "npipe"]);

function long(volume: Exclude<Volume, string>): ComposeVolume | undefined {
  const { type, source, target, content } = volume;
  if (!source || NO_FOLDER.has(type ?? "")) return undefined;
  // Types that are unknown today are not treated as volumes.
  const isPath = type ? type !== "volume" : /^[./~$]/.test(source);
  return {
    name: isPath ? null : source,
    hostPath: isPath ? source : null,
    mountPath: target,
    isReadOnly: volume.read_only === true,
    content: content ?? null,
    isDirectory: volume.is_directory ?? volume.isDirectory ?? false,
  };
}
