import { LINE_LENGTH_MAX } from "./lines.ts";
import { PREFIX_LENGTH, type TextSet, textSet } from "./text-set.ts";

export const REDACTED = "[REDACTED]";

const LENGTH_MIN = PREFIX_LENGTH; // Shorter values stand in every other word.
const EMBEDDED_LENGTH_MIN = 8; // Within a longer base64 text, e.g. `user:password`, only what is long enough is telling.
const PIECE_LENGTH = 64; // A line of a key file.

/**
 * Makes a function that takes one line after the other and answers it with every secret replaced by `[REDACTED]`: the
 * value itself, each line of it, and its url-encoded, JSON-escaped and base64 forms. Also finds a secret that was torn
 * because the line was too long to be handed on whole.
 *
 * Short secrets come first: what `PIECES_MAX` leaves no place for is hidden as it is alone, then its beginning alone.
 *
 * @param secrets Values shorter than 4 characters are left alone.
 */
export function redactor(secrets: Iterable<string>): (line: string) => string {
  const { pieces, known, backwards } = knownOf(secrets);
  if (pieces.size === 0) return (line) => line;
  let isContinued = false;
  return (line) => {
    const wasContinued = isContinued;
    // The splitter cuts one character less when a surrogate pair stands at the cut.
    isContinued = line.length >= LINE_LENGTH_MAX - 1;
    const start = wasContinued ? tornLength(backwards(), reversed(line.slice(0, PIECE_LENGTH))) : 0;
    const end = isContinued ? tornLength(known, line.slice(-PIECE_LENGTH)) : 0;
    return hidden(line, known, start, line.length - end);
  };
}

interface Known {
  readonly pieces: ReadonlySet<string>;
  readonly known: TextSet;
  /** Only a line that was torn needs them. */
  readonly backwards: () => TextSet;
}

/** The streams of a log have the same secrets, and putting them in order is what costs. */
const knownOfList = new WeakMap<object, Known>();

function knownOf(secrets: Iterable<string>): Known {
  const earlier = knownOfList.get(secrets as object); // A text of its own would be a list of characters.
  if (earlier !== undefined) return earlier;
  const pieces = new Set(piecesOfAll(secrets));
  const made = { pieces, known: textSet(pieces), backwards: once(() => textSet([...pieces].map(reversed))) };
  knownOfList.set(secrets as object, made);
  return made;
}

/** @param from Of the line, what stands before it and what stands from `to` on is hidden in any case. */
function hidden(line: string, known: TextSet, from: number, to: number): string {
  let text = from > 0 ? REDACTED : "";
  // Up to here the line is in the text; up to there what follows is hidden.
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

/** How much of a secret stands at the end of a text that was cut off there. */
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

/** Pieces that together cover a form: of a long secret the tenth part would be as telling as the whole. */
function piecesOf(form: string): string[] {
  if (form.length <= PIECE_LENGTH) return [form];
  const pieces: string[] = [];
  for (let at = 0; at + PIECE_LENGTH < form.length; at += PIECE_LENGTH) pieces.push(form.slice(at, at + PIECE_LENGTH));
  return [...pieces, form.slice(-PIECE_LENGTH)];
}

/** All forms of many values would take gigabytes, and hold up everybody while they are made: a piece is a microsecond. */
const PIECES_MAX = 36_000; // 900 secrets of 100 characters, or one of 110 KB.
const BEGINNING_LENGTH = 1024;
const FORMS = 15; // That `encodings` makes of a line.
const BASE64_GROWTH = 4 / 3;

function* piecesOfAll(secrets: Iterable<string>): Iterable<string> {
  const all = new Set<string>();
  for (const secret of secrets) if (all.add(secret).size === PIECES_MAX) break;
  const sorted = [...all].sort((a, b) => a.length - b.length);
  // The beginning of each has its place before any has all its forms.
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

/** A value, and each of its lines that can be told from other words. */
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

/** The constant part of a value's base64 when 0, 1 or 2 bytes (modulo 3) precede it and others follow. */
function embeddedBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const from = Math.ceil((offset * 4) / 3);
    const to = Math.floor((padded.length * 4) / 3);
    return [padded.toString("base64").slice(from, to), padded.toString("base64url").slice(from, to)];
  });
}
