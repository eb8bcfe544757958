import { DomainError } from "../errors.ts";

/** One variable in a file in env format. */
export interface EnvFileEntry {
  readonly key: string;
  readonly value: string;
  /** The comment at the end of its line. */
  readonly comment: string | null;
}

// As in dotenv, the `=` and a quoted value may be on lines of their own.
const HEAD = /[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)(?:\s*=|:(?=\s))/y;
// Quoted, with escaped quotes. If anything but a comment follows, the value is not quoted.
const QUOTED = /\s*('(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`)[^\S\n]*(?:#(.*))?$/my;
const PLAIN = /.*/y;

/**
 * Parses env format like the package dotenv: `KEY=value`, optionally quoted (then it may span lines; in double quotes
 * `\n` and `\r` are line ends), optionally after `export`. Other lines are skipped; of duplicate keys the last one
 * counts.
 *
 * Unlike in dotenv, `#` in an unquoted value begins a comment only after white space, so that `PASSWORD=a#b` and
 * `COLOR=#fff` are kept whole.
 */
export const parseEnvFile = (text: string): readonly EnvFileEntry[] => readEnvFile(text).entries;

// Far above real files, and still fast to read.
const LINES_MAX = 10_000;
const DOLLARS_MAX = 10_000;

/**
 * Parses like the compose tool does an `env_file`: `$NAME` is a variable, except in single quotes. In single quotes
 * and in `raw` files each `$` is doubled, so that it stays literal.
 * @throws DomainError `deploy.build_failed` if the file exceeds a limit
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

/** Also returns the numbers, from 1, of skipped lines that are neither empty nor a comment. */
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
      // Deletes first, so that the key moves to its last place.
      entries.delete(head[1]);
      entries.set(head[1], { key: head[1], value: entry.value, comment: entry.comment });
      at = entry.end;
    } else if (/^[^\S\n]*[^\s#]/.test(matchAt(PLAIN, source, at)?.[0] ?? "")) {
      unreadLines.push(line);
    }
    const lineEnd = source.indexOf("\n", at);
    at = lineEnd === -1 ? source.length : lineEnd + 1;
    // A quoted value may span several lines.
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
