import { LINE_LENGTH_MAX } from "./lines.ts";
import { PREFIX_LENGTH, type TextSet, textSet } from "./text-set.ts";

export const REDACTED = "[REDACTED]";

const LENGTH_MIN = PREFIX_LENGTH; // Shorter values occur in ordinary words.
const EMBEDDED_LENGTH_MIN = 8; // Shorter parts of a base64 text, e.g. of `user:password`, are not specific enough.
const PIECE_LENGTH = 64; // Length of a line in a key file.

/**
 * Makes a function that replaces every secret in consecutive lines by `[REDACTED]`: the value, each of its lines, and
 * its url-encoded, JSON-escaped and base64 forms. Also finds a secret that was cut because its line was split.
 *
 * Short secrets come first. For those beyond `PIECES_MAX` only the plain value is hidden, or only its beginning.
 *
 * @param secrets Values shorter than 4 characters are not hidden.
 */
export function redactor(secrets: Iterable<string>): (line: string) => string {
  const { pieces, known, backwards } = knownOf(secrets);
  if (pieces.size === 0) return (line) => line;
  let isContinued = false;
  return (line) => {
    const wasContinued = isContinued;
    // The splitter cuts one character earlier inside a surrogate pair.
    isContinued = line.length >= LINE_LENGTH_MAX - 1;
    const start = wasContinued ? tornLength(backwards(), reversed(line.slice(0, PIECE_LENGTH))) : 0;
    const end = isContinued ? tornLength(known, line.slice(-PIECE_LENGTH)) : 0;
    return hidden(line, known, start, line.length - end);
  };
}

interface Known {
  readonly pieces: ReadonlySet<string>;
  readonly known: TextSet;
  /** Needed only for lines that were split. */
  readonly backwards: () => TextSet;
}

/** Cached, since all streams of a log share the secrets and sorting them is expensive. */
const knownOfList = new WeakMap<object, Known>();

function knownOf(secrets: Iterable<string>): Known {
  const earlier = knownOfList.get(secrets as object); // Never a string: its characters would be the list.
  if (earlier !== undefined) return earlier;
  const pieces = new Set(piecesOfAll(secrets));
  const made = { pieces, known: textSet(pieces), backwards: once(() => textSet([...pieces].map(reversed))) };
  knownOfList.set(secrets as object, made);
  return made;
}

/** @param from The characters before `from`, and from `to` on, are hidden in any case. */
function hidden(line: string, known: TextSet, from: number, to: number): string {
  let text = from > 0 ? REDACTED : "";
  // `text` represents the line up to `shownTo`; the characters up to `hiddenTo` are hidden.
  let shownTo = from;
  let hiddenTo = from > 0 ? from : -1;
  for (let at = 0; at < line.length; at++) {
    const length = at >= to ? line.length - at : known.matchLength(line, at);
    if (length === 0) continue;
    if (at > hiddenTo) text += line.slice(shownTo, at) + REDACTED;
    hiddenTo = Math.max(hiddenTo, at + length);
    shownTo = hiddenTo;
    if (at >= to) break;
  }
  return text + line.slice(shownTo);
}

/** Length of the secret's beginning at the end of a text that was cut. */
function tornLength(known: TextSet, text: string): number {
  for (let at = 0; at < text.length; at++) if (known.isCutAt(text, at)) return text.length - at;
  return 0;
}

const reversed = (text: string): string => text.split("").reverse().join("");

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Overlapping pieces of a form: a tenth of a long secret would reveal as much as all of it. */
function piecesOf(form: string): string[] {
  if (form.length <= PIECE_LENGTH) return [form];
  const pieces: string[] = [];
  for (let at = 0; at + PIECE_LENGTH < form.length; at += PIECE_LENGTH) pieces.push(form.slice(at, at + PIECE_LENGTH));
  return [...pieces, form.slice(-PIECE_LENGTH)];
}

/** Limits memory and time: all forms of many values would take gigabytes, and each piece a microsecond. */
const PIECES_MAX = 36_000; // 900 secrets of 100 characters, or one of 110 KB.
const BEGINNING_LENGTH = 1024;
const FORMS = 15; // Number of forms that `encodings` makes of a line.
const BASE64_GROWTH = 4 / 3;

function* piecesOfAll(secrets: Iterable<string>): Iterable<string> {
  const all = new Set<string>();
  for (const secret of secrets) if (all.add(secret).size === PIECES_MAX) break;
  const sorted = [...all].sort((a, b) => a.length - b.length);
  // Reserves room for the beginning of each secret before any gets all its forms.
  const piecesLeft = PIECES_MAX - sorted.reduce((sum, secret) => sum + countOf(beginningOf(secret), 1), 0);
  let count = 0;
  for (const secret of sorted) {
    for (const piece of piecesOfSecret(secret, piecesLeft - count)) {
      count += 1;
      if (count > PIECES_MAX) return;
      yield piece;
    }
  }
}

function* piecesOfSecret(secret: string, piecesLeft: number): Iterable<string> {
  const isPlain = secret.length / PIECE_LENGTH <= piecesLeft;
  const lines = isPlain ? linesOf(secret) : beginningOf(secret);
  const isEncoded = countOf(lines, BASE64_GROWTH) * FORMS <= piecesLeft;
  for (const line of lines) for (const form of isEncoded ? encodings(line) : [line]) yield* piecesOf(form);
}

const beginningOf = (secret: string): string[] => linesOf(secret.slice(0, BEGINNING_LENGTH));

const countOf = (lines: readonly string[], growth: number): number =>
  lines.reduce((sum, line) => sum + Math.ceil((line.length * growth) / PIECE_LENGTH), 0);

/** A value, and those of its lines that are unlike ordinary words. */
const linesOf = (secret: string): string[] =>
  [...new Set([secret, ...secret.split(/\r\n|\r|\n/).map((line) => line.trim())])].filter(
    (value) => value.length >= LENGTH_MIN,
  );

function encodings(value: string): string[] {
  const bytes = Buffer.from(value);
  const url = encodeURIComponent(value.toWellFormed());
  return [
    value,
    url,
    url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    url.replaceAll("%20", "+"),
    JSON.stringify(value).slice(1, -1),
    ...[bytes.toString("base64"), bytes.toString("base64url")].flatMap((text) => [text, text.replace(/=+$/, "")]),
    ...(value.length < EMBEDDED_LENGTH_MIN ? [] : embeddedBase64(bytes)),
  ];
}

/** The constant part of a value's base64 for 0, 1 or 2 bytes (modulo 3) in front of it and more after it. */
function embeddedBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const from = Math.ceil((offset * 4) / 3);
    const to = Math.floor((padded.length * 4) / 3);
    return [padded.toString("base64").slice(from, to), padded.toString("base64url").slice(from, to)];
  });
}
