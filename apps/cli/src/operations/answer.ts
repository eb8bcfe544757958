import type { Output } from "../output.ts";
import { cell } from "../output.ts";
import { printable, printableLine } from "../printable.ts";

/** Most informative columns, in order. */
const PREFERRED = [
  "name",
  "key",
  "is_preview",
  "domain",
  "status",
  "type",
  "engine",
  "image",
  "frequency",
  "uuid",
  "id",
];
const COLUMNS_MAX = 6;
/** The whole text is shown by `get` and with --json. */
const CELL_LENGTH_MAX = 80;

/** Prints an answer of the API for users: a list as a table, an object as pairs, a message as a sentence. */
export function showAnswer(output: Output, answer: unknown): void {
  output.show(answer, () => {
    if (Array.isArray(answer)) showList(output, answer);
    else if (isObject(answer)) showObject(output, answer);
    else output.line(printable(String(answer ?? "Done.")));
  });
}

function showObject(output: Output, answer: Readonly<Record<string, unknown>>): void {
  const entries = Object.entries(answer);
  if (entries.length === 1 && typeof answer.message === "string") {
    output.line(printable(answer.message));
    return;
  }
  const tables = entries.flatMap(([key, value]) => (isTable(value) ? [[key, value] as const] : []));
  const plain = entries.filter(([, value]) => !isTable(value) && !hasLines(value));
  const pairs = plain.flatMap(([key, value]) => pairsOf(key, value));
  if (pairs.length > 0) output.details(pairs);
  for (const [key, value] of entries) if (hasLines(value)) showText(output, key, value);
  for (const [key, rows] of tables) {
    output.line(`${pairs.length > 0 || key !== tables[0]?.[0] ? "\n" : ""}${key.replaceAll("_", " ")}`);
    showList(output, rows);
  }
}

/** A compose file or a key keeps its lines, which are its meaning. */
function showText(output: Output, key: string, text: string): void {
  output.line(`\n${key.replaceAll("_", " ")}`);
  for (const line of text.trimEnd().split("\n")) output.line(`  ${printableLine(line, false)}`.trimEnd());
}

/** Fields of nested objects get one line each, prefixed with the object's name. */
function pairsOf(key: string, value: unknown): readonly (readonly [string, string])[] {
  if (isEmpty(value)) return [];
  const urls = key.endsWith(COMPOSE_DOMAINS) ? urlsByContainer(value) : undefined;
  if (urls !== undefined)
    return urls.map(([name, text]) => [`${key.slice(0, -COMPOSE_DOMAINS.length)}url of ${name}`, text]);
  if (!isObject(value)) return [[key, textOf(value)]];
  return Object.entries(value).flatMap(([inner, each]) => pairsOf(`${key}.${inner}`, each));
}

/** The API has the URLs of a compose application as JSON in a text: `{"web":{"domain":"https://shop.example"}}`. */
const COMPOSE_DOMAINS = "docker_compose_domains";

function urlsByContainer(value: unknown): readonly (readonly [string, string])[] | undefined {
  if (typeof value !== "string") return undefined;
  const parsed = parsedOf(value);
  if (!isObject(parsed)) return undefined;
  return Object.entries(parsed).flatMap(([name, each]) => {
    const domain = isObject(each) ? each.domain : each;
    return isEmpty(domain) ? [] : [[printable(name), textOf(domain).split(",").join(" ")] as const];
  });
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Shown as it is.
  }
}

const isTable = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > 0 && value.every(isObject);

function showList(output: Output, items: readonly unknown[]): void {
  if (items.length === 0) {
    output.line("None.");
    return;
  }
  const rows = items.filter(isObject);
  if (rows.length < items.length) {
    for (const item of items) output.line(textOf(item));
    return;
  }
  const columns = columnsOf(rows);
  output.table(
    columns.map((key) => key.replaceAll("_", " ").toUpperCase()),
    rows.map((row) => columns.map((key) => cell(isEmpty(row[key]) ? undefined : short(textOf(row[key]))))),
  );
}

/** Columns with a plain value in at least one row. */
function columnsOf(rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const plain = keys.filter((key) => rows.some((row) => !isEmpty(row[key])) && rows.every((row) => isShown(row[key])));
  const rank = (key: string) => (PREFERRED.includes(key) ? PREFERRED.indexOf(key) : PREFERRED.length);
  return [...plain].sort((a, b) => rank(a) - rank(b)).slice(0, COLUMNS_MAX);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isPlain = (value: unknown) => typeof value !== "object" || value === null;
/** Texts with several lines, such as keys, do not fit into a table. */
const isShown = (value: unknown) => isPlain(value) && !hasLines(value);
const hasLines = (value: unknown): value is string => typeof value === "string" && value.trimEnd().includes("\n");
const short = (text: string) => (text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX - 1)}…` : text);
const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
const textOf = (value: unknown): string => {
  if (Array.isArray(value) && value.every(isPlain)) return value.map(textOf).join(", ");
  return printable(isPlain(value) ? String(value) : JSON.stringify(value));
};
