import type { ComposeService } from "./schema.ts";

export interface ComposeVolume {
  /** Name of the volume; `null` for a folder or file of the server. */
  readonly name: string | null;
  /** On the server; `null` for a named volume. Relative ones are below the service's own folder. */
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

/** Mounts that are kept; anonymous volumes and memory are not. */
export function volumesOf(volumes: readonly Volume[]): readonly ComposeVolume[] {
  return volumes.flatMap((volume) => {
    const read = typeof volume === "string" ? short(volume) : long(volume);
    return read === undefined ? [] : [read];
  });
}

/** `./data/a` is `.data.a`: letters, digits and `_.-` are all that the name of a volume may hold. */
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

/** A variable, optionally with a text in it. */
const REFERENCE = /\$\{[A-Za-z_][A-Za-z0-9_]*(?::?[-?+][^${}`|&;<>\r\n\t]*)?\}/g;

/** Characters with which a shell would begin something of its own. */
export const isDangerous = (text: string): boolean => /[`|&;<>\r\n\t]|\$[({]/.test(text);

const quoted = (text: string): string => `'${text.slice(0, 100).replace(/\p{C}/gu, "?")}'`;

/** In the container. */
export const mountPathOf = (volume: Volume): string => endsOf(volume)[1];

function endsOf(volume: Volume): readonly [string | undefined, string] {
  if (typeof volume !== "string") return [volume.source ?? undefined, volume.target];
  const [first = "", second] = partsOf(volume);
  return second === undefined ? [undefined, first] : [first, second];
}

/** At colons that are not inside `${...}`, in one pass however many of these are open. */
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
  // Whatever another type may come to mean, it is not one of our volumes.
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
