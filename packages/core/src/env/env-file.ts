import { DomainError } from "../errors.ts";

/** One variable of a text in env format. */
export interface EnvFileEntry {
  readonly key: string;
  readonly value: string;
  /** The comment at the end of its line. */
  readonly comment: string | null;
}

// As there, the sign and a quoted value may stand on lines of their own.
const HEAD = /[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)(?:\s*=|:(?=\s))/y;
// Any character but the quote, which a backslash may precede. No comment and no line end: it is not quoted.
const QUOTED = /\s*('(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`)[^\S\n]*(?:#(.*))?$/my;
const PLAIN = /.*/y;

/**
 * Reads a text in env format as the package dotenv does: `KEY=value`, optionally quoted (then it may span lines; in
 * double quotes `\n` and `\r` are line ends), optionally after `export`. Lines that are none of this are passed over; of
 * two with one key the later one counts.
 *
 * Unlike there, a `#` in an unquoted value begins a comment only behind white space, so that `PASSWORD=a#b` and
 * `COLOR=#fff` are kept whole.
 */
export const parseEnvFile = (text: string): readonly EnvFileEntry[] => readEnvFile(text).entries;

// What is read in a moment; the largest files that anybody writes have some hundreds of each.
const LINES_MAX = 10_000;
const DOLLARS_MAX = 10_000;

/**
 * As the compose tool takes an `env_file`: `$NAME` in a value is a variable, unless it stands in single quotes. There and
 * in what is `raw`, each `$` is doubled, so that it is none.
 * @throws DomainError `deploy.build_failed` for more lines or `$` than anybody writes
 */
export function composeEnvFile(
  text: string,
  { isRaw }: { readonly isRaw: boolean },
): readonly (readonly [string, string])[] {
  const refuse = (what: string) =>
    new DomainError("deploy.build_failed", `An env file has more than ${what}. Shorten it.`);
  if (text.split(/[\r\n]/, LINES_MAX + 2).length > LINES_MAX + 1) throw refuse(`${LINES_MAX} lines`);
  if (text.split("$", DOLLARS_MAX + 2).length > DOLLARS_MAX + 1) throw refuse(`${DOLLARS_MAX} $`);
  const lines = text.split("\n");
  const literal = (value: string) => value.replaceAll("$", "$$$$");
  if (isRaw) {
    return lines.flatMap((line) => {
      const [, key, value] = /^([^#=\s][^=]*)=(.*?)\r?$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, literal(value)] as const];
    });
  }
  const single = new Set([...text.matchAll(SINGLE_QUOTED)].map(([, key]) => key));
  return parseEnvFile(text).map(({ key, value }) => [key, single.has(key) ? literal(value) : value] as const);
}

const SINGLE_QUOTED = /^[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)[^\S\n]*[=:]\s*'/gm;

/** Also the numbers, from 1, of the lines that are passed over though they are neither empty nor a comment. */
export function readEnvFile(text: string): {
  readonly entries: readonly EnvFileEntry[];
  readonly unreadLines: readonly number[];
} {
  const source = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const entries = new Map<string, EnvFileEntry>();
  const unreadLines: number[] = [];
  let at = 0;
  let line = 1;
  while (at < source.length) {
    const begin = at;
    const head = matchAt(HEAD, source, at);
    if (head?.[1] !== undefined) {
      const entry = valueAt(source, at + head[0].length);
      // Anew, so that the order is that of what counts.
      entries.delete(head[1]);
      entries.set(head[1], { key: head[1], value: entry.value, comment: entry.comment });
      at = entry.end;
    } else if (/^[^\S\n]*[^\s#]/.test(matchAt(PLAIN, source, at)?.[0] ?? "")) {
      unreadLines.push(line);
    }
    const lineEnd = source.indexOf("\n", at);
    at = lineEnd === -1 ? source.length : lineEnd + 1;
    // A value in quotes may have several.
    for (let next = source.indexOf("\n", begin); next !== -1 && next < at; next = source.indexOf("\n", next + 1))
      line += 1;
  }
  return { entries: [...entries.values()], unreadLines };
}

function valueAt(source: string, start: number) {
  const quoted = matchAt(QUOTED, source, start);
  if (quoted?.[1] !== undefined) {
    return { value: unquote(quoted[1]), comment: trimmed(quoted[2]), end: start + quoted[0].length };
  }
  const line = matchAt(PLAIN, source, start)?.[0] ?? "";
  const [, value = line, comment] = /^(.*?)\s#(.*)$/.exec(line) ?? [];
  return { value: unquote(value.trim()), comment: trimmed(comment), end: start + line.length };
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

function unquote(raw: string): string {
  const value = /^(['"`])([\s\S]*)\1$/.exec(raw)?.[2] ?? raw;
  return raw.startsWith('"') ? value.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : value;
}

const trimmed = (comment: string | undefined): string | null => comment?.trim() || null;
