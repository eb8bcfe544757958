import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type Pair, Parser } from "yaml";
import { jsonProblem } from "../json.ts";
import { placeOf } from "./yaml-place.ts";

/** Deeper than real compose files, but limited, since later code walks the document recursively. */
const DEPTH_MAX = 32;
/** Limit of YAML tokens. A compose file of a hundred containers has some thousands; the largest template has 700. */
const TOKENS_MAX = 16_000;
/** Limit of values after all aliases are expanded. */
const EXPANDED_MAX = 16_000;
/** Limit of the length of all texts together: an alias of five characters may stand for a million. */
const EXPANDED_LENGTH_MAX = 2 * 1_048_576; // Twice the longest accepted text.
/** Every `$` is read several times, once for each alias. Scripts in mounted files have some hundreds. */
const DOLLARS_MAX = 5000;

export interface YamlValue {
  /** Plain objects, lists, texts, numbers, flags and null. Aliases refer to one shared object. */
  readonly value: unknown;
  /** Notes that plain values have no place for, by key of a map or index of a list. */
  readonly notes: WeakMap<object, ReadonlyMap<string | number, EntryNote>>;
  /** `!reset` and `!override` of a map's entries, which control how files are merged. */
  readonly tags: WeakMap<object, ReadonlyMap<string, EntryTag>>;
  /** The place of a path in the file, as a sentence after a space; empty if unknown. */
  readonly placeOf: (path: string) => string;
}

/** The tags of the compose tool. */
export type EntryTag = "!reset" | "!override";

export interface EntryNote {
  /** The comment after the entry. */
  readonly comment: string | undefined;
  /** The text as written: as a number, `1.10` would become `1.1`. */
  readonly source: string | undefined;
}

/**
 * Reads one YAML document. Never throws, and its work is bounded for any text: nesting, number of values and the size
 * of expanded aliases are limited before later code walks them.
 */
export function readYaml(text: string): YamlValue | { readonly problem: string } {
  const lines = new LineCounter();
  try {
    const { contents } = oneDocument(text, lines);
    const reading: Reading = {
      lines,
      anchors: new Map(),
      size: 0,
      length: 0,
      dollars: 0,
      notes: new WeakMap(),
      tags: new WeakMap(),
    };
    const value = readNode(contents, reading, 0);
    const { notes, tags } = reading;
    return { value, notes, tags, placeOf: (path) => placeOf(contents, lines, path) };
  } catch (refusal) {
    if (refusal instanceof Problem) return { problem: refusal.message };
    throw refusal;
  }
}

/**
 * Reads JSON that Berth wrote from the result of `readYaml`. Ten times as fast, so the limits are higher, as needed
 * with variables from files.
 * @returns `undefined`: it is not JSON.
 */
export function readWrittenJson(text: string): YamlValue | { readonly problem: string } | undefined {
  if (!text.startsWith("{")) return undefined;
  const problem = jsonProblem(text, WRITTEN_VALUES_MAX);
  if (problem !== undefined) return { problem };
  if (dollarsIn(text, WRITTEN_DOLLARS_MAX) > WRITTEN_DOLLARS_MAX)
    return { problem: `Has more than ${WRITTEN_DOLLARS_MAX} $, with those of the files that it names.` };
  try {
    return { value: JSON.parse(text), notes: new WeakMap(), tags: new WeakMap(), placeOf: () => "" };
  } catch {
    return undefined;
  }
}

const WRITTEN_VALUES_MAX = 30_000;
const WRITTEN_DOLLARS_MAX = 20_000;

/** Counts at most one more than `max`. */
const dollarsIn = (text: string, max: number): number => text.split("$", max + 2).length - 1;

class Problem extends Error {}

function oneDocument(text: string, lines: LineCounter): Document.Parsed {
  // The package's own check compares all keys of a map with each other, which takes minutes for large maps; `mapOf`
  // checks in one pass.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false, logLevel: "silent" });
  const documents = [...composer.compose(tokensOf(text, lines), true, text.length)];
  const [document] = documents;
  const error = document?.errors[0];
  if (error !== undefined) throw new Problem(`Not valid YAML${at(lines, error.pos[0])}: ${sentence(error.message)}`);
  if (document === undefined || documents.length > 1) throw new Problem("Must be exactly one YAML document.");
  // The composer returns only parsed documents; the type also allows documents made by hand.
  return document as Document.Parsed;
}

/** The lexer and the parser are not recursive, but later stages are. */
function tokensOf(text: string, lines: LineCounter) {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > TOKENS_MAX)
      throw new Problem(`Has more than ${TOKENS_MAX} keys, values and signs. Split it into several services.`);
    tokens.push(...parser.next(lexeme));
    // A level uses up to two entries of the stack.
    if (parser.stack.length > DEPTH_MAX * 2) throw new Problem(TOO_DEEP);
  }
  tokens.push(...parser.end());
  return tokens;
}

const PROTOTYPE = "__proto__";

const TOO_DEEP = `Nested deeper than ${DEPTH_MAX} levels.`;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Anchor extends Size {
  readonly value: unknown;
  readonly tag: EntryTag | undefined;
}

/** State of the reading, with the size so far. */
interface Reading extends Mutable<Size> {
  readonly lines: LineCounter;
  /** Anchored values that are complete. */
  readonly anchors: Map<string, Anchor>;
  readonly notes: WeakMap<object, ReadonlyMap<string | number, EntryNote>>;
  readonly tags: WeakMap<object, ReadonlyMap<string, EntryTag>>;
}

interface Size {
  /** Number of values, aliases included. */
  readonly size: number;
  /** Number of characters of all texts. */
  readonly length: number;
  /** Number of `$`, which may begin references. */
  readonly dollars: number;
}

function readNode(node: unknown, reading: Reading, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new Problem(TOO_DEEP);
  const { size, length, dollars } = reading;
  grow(reading, { size: 1, length: 0, dollars: 0 });
  if (isAlias(node)) return aliasOf(node, reading);
  const value = isMap(node)
    ? mapOf(node.items, reading, depth)
    : isSeq(node)
      ? listOf(node.items, reading, depth)
      : scalarOf(node, reading);
  const hasAnchor = (isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined;
  if (hasAnchor) {
    const own = {
      size: reading.size - size,
      length: reading.length - length,
      dollars: reading.dollars - dollars,
    };
    reading.anchors.set(node.anchor ?? "", { ...own, value, tag: tagOf(node, reading) });
  }
  return value;
}

function aliasOf(node: { readonly source: string }, reading: Reading): unknown {
  const anchor = reading.anchors.get(node.source);
  if (anchor === undefined) throw new Problem(`The alias *${node.source} is not defined${at(reading.lines, node)}.`);
  grow(reading, anchor);
  return anchor.value;
}

function grow(reading: Reading, { size, length, dollars }: Size): void {
  reading.size += size;
  reading.length += length;
  reading.dollars += dollars;
  if (reading.size > EXPANDED_MAX) throw new Problem(`Exceeds ${EXPANDED_MAX} values after aliases are expanded.`);
  if (reading.length > EXPANDED_LENGTH_MAX)
    throw new Problem(`Exceeds ${EXPANDED_LENGTH_MAX} characters after aliases are expanded.`);
  if (reading.dollars > DOLLARS_MAX) throw new Problem(`Has more than ${DOLLARS_MAX} $ after aliases are expanded.`);
}

const sizeOf = (text: string): Size => ({ size: 0, length: text.length, dollars: dollarsIn(text, DOLLARS_MAX) });

function listOf(items: readonly unknown[], reading: Reading, depth: number): unknown[] {
  const list = items.map((item) => readNode(item, reading, depth + 1));
  const notes = items.flatMap((item, index) => entryNote(index, item));
  if (notes.length > 0) reading.notes.set(list, new Map(notes));
  return list;
}

function mapOf(pairs: readonly Pair[], reading: Reading, depth: number): Record<string, unknown> {
  const entries = new Map<string, unknown>();
  const notes = new Map<string | number, EntryNote>();
  const tags = new Map<string, EntryTag>();
  const merged: { readonly map: unknown; readonly key: unknown }[] = [];
  for (const { key, value } of pairs) {
    const name = keyOf(key, reading);
    if (entries.has(name)) throw new Problem(`The key ${name} is there twice${at(reading.lines, key)}.`);
    const read = readNode(value, reading, depth + 1);
    if (name === "<<") merged.push(...(Array.isArray(read) ? read : [read]).map((map: unknown) => ({ map, key })));
    else entries.set(name, read);
    for (const [, note] of entryNote(name, value)) notes.set(name, note);
    const tag = tagOf(value, reading);
    if (tag !== undefined) tags.set(name, tag);
  }
  for (const { map, key } of merged) {
    if (!mergeInto({ entries, notes, tags }, map, reading))
      throw new Problem(`Only maps can be merged with <<${at(reading.lines, key)}.`);
  }
  const object = Object.fromEntries(entries);
  if (notes.size > 0) reading.notes.set(object, notes);
  if (tags.size > 0) reading.tags.set(object, tags);
  return object;
}

interface ReadMap {
  readonly entries: Map<string, unknown>;
  readonly notes: Map<string | number, EntryNote>;
  readonly tags: Map<string, EntryTag>;
}

/**
 * Merges a `<<` map: own keys override merged ones, earlier merged maps override later ones. `false`: the value is
 * not a map.
 */
function mergeInto({ entries, notes, tags }: ReadMap, map: unknown, from: Reading): boolean {
  // The compose tool refuses this, but in this API family an environment may be a list: `<<: [A=1]`.
  if (typeof map === "string" && map.includes("=")) {
    const key = map.slice(0, map.indexOf("=")).trim();
    if (!entries.has(key) && key !== PROTOTYPE) entries.set(key, map.slice(map.indexOf("=") + 1));
    return true;
  }
  if (typeof map !== "object" || map === null || Array.isArray(map)) return false;
  const [theirNotes, theirTags] = [from.notes.get(map), from.tags.get(map)];
  for (const [key, value] of Object.entries(map)) {
    if (entries.has(key)) continue;
    entries.set(key, value);
    const note = theirNotes?.get(key);
    if (note !== undefined) notes.set(key, note);
    const tag = theirTags?.get(key);
    // Like the compose tool: `!reset` in a merged map applies only there.
    if (tag === "!override") tags.set(key, tag);
  }
  return true;
}

function tagOf(node: unknown, { anchors }: Reading): EntryTag | undefined {
  if (isAlias(node)) return anchors.get(node.source)?.tag;
  const tag = isScalar(node) || isMap(node) || isSeq(node) ? node.tag : undefined;
  return tag === "!reset" || tag === "!override" ? tag : undefined;
}

function keyOf(key: unknown, reading: Reading): string {
  if (!isScalar(key)) throw new Problem(`A key must be plain text${at(reading.lines, key)}.`);
  // The parser returns `!!merge <<` as a symbol.
  const name = typeof key.value === "symbol" ? (key.value.description ?? "") : String(key.value);
  requireText(name, key, reading);
  grow(reading, sizeOf(name));
  // The key would set the prototype of the object.
  if (name === PROTOTYPE) throw new Problem(`The key ${name} is not allowed${at(reading.lines, key)}.`);
  return name;
}

function scalarOf(node: unknown, reading: Reading): unknown {
  if (!isScalar(node)) return null;
  const { value } = node;
  if (typeof value === "string") {
    requireText(value, node, reading);
    grow(reading, sizeOf(value));
  }
  // Like the compose tool: `mode: 0644` is octal.
  if (typeof value === "number" && /^0[0-7]+$/.test(node.source ?? "")) return Number.parseInt(node.source ?? "", 8);
  return value ?? null;
}

function requireText(text: string, node: unknown, { lines }: Reading): void {
  if (!text.includes("\0") && text.isWellFormed()) return;
  throw new Problem(`Contains a character that cannot be stored${at(lines, node)}.`);
}

function entryNote<Key>(key: Key, node: unknown): readonly (readonly [Key, EntryNote])[] {
  if (!isScalar(node)) return [];
  const comment = node.comment?.split("\n", 1)[0]?.trim() || undefined;
  const source = typeof node.value === "string" ? undefined : node.source;
  return comment === undefined && source === undefined ? [] : [[key, { comment, source }]];
}

function at(lines: LineCounter, where: unknown): string {
  const offset = typeof where === "number" ? where : offsetOf(where);
  if (offset === undefined) return "";
  const { line, col } = lines.linePos(offset);
  return ` at line ${line}, column ${col}`;
}

const offsetOf = (node: unknown): number | undefined =>
  isScalar(node) || isAlias(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;

const sentence = (message: string): string => (message.endsWith(".") ? message : `${message}.`);
