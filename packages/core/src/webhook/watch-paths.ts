/**
 * Whether a push changed a file that an application watches.
 *
 * @param watchPaths One glob per line: `*` and `?` within a folder, `**` at any depth, `[a-z]`, and a leading `!` to
 * exclude. Of several matching globs the last one counts. If all lines begin with `!`, all other files are watched.
 * @param changed Paths from the repository's root; `undefined` if unknown, which counts as watched.
 * @param effort Remaining limit for all questions about one push. Above it everything counts as watched: an
 * unnecessary deployment is better than blocking the process.
 */
export function isWatched(
  watchPaths: string | null,
  changed: readonly string[] | undefined,
  effort: WatchEffort = watchEffort(),
): boolean {
  if (changed === undefined || effort.stepsLeft < 0) return true;
  effort.stepsLeft -= watchPaths?.length ?? 0;
  const rules = (watchPaths ?? "").split("\n").flatMap((line) => ruleOf(line.trim()));
  if (rules.length === 0) return true;
  const isWatchedByDefault = rules.every(({ isExclusion }) => isExclusion);
  return changed.some((path) => {
    const last = rules.findLast(({ tokens }) => matches(tokens, path, effort));
    if (effort.stepsLeft < 0) return true;
    return last === undefined ? isWatchedByDefault : !last.isExclusion;
  });
}

/** Remaining comparisons of a character with a place of a glob. */
export interface WatchEffort {
  stepsLeft: number;
}

/** For all questions about one push: some 40 ms. */
export const watchEffort = (): WatchEffort => ({ stepsLeft: STEPS_MAX });

const STEPS_MAX = 700_000;

interface WatchRule {
  readonly isExclusion: boolean;
  readonly tokens: readonly PatternToken[];
}

function ruleOf(line: string): readonly WatchRule[] {
  const isExclusion = line.startsWith("!");
  const glob = (isExclusion ? line.slice(1).trim() : line).replace(/^\.?\/+/, "");
  if (glob === "") return [];
  // A folder matches everything in it.
  return [{ isExclusion, tokens: tokensOf(glob.endsWith("/") ? `${glob}**` : glob) }];
}

/**
 * `one` matches one character, `run` any number of characters, `folders` zero or more whole folders with their
 * slashes.
 */
type PatternToken =
  | { readonly type: "one"; readonly takes: (character: string) => boolean }
  | { readonly type: "run"; readonly takes: (character: string) => boolean }
  | { readonly type: "folders" };

const anything = () => true;
const noSlash = (character: string) => character !== "/";
const literal =
  (wanted: string): ((character: string) => boolean) =>
  (character) =>
    character === wanted;

function tokensOf(glob: string): readonly PatternToken[] {
  const tokens: PatternToken[] = [];
  let rest = glob;
  let isAtFolder = true;
  while (rest !== "") {
    const { token, length } = nextToken(rest, isAtFolder);
    isAtFolder = rest.slice(0, length).endsWith("/");
    tokens.push(token);
    rest = rest.slice(length);
  }
  return tokens;
}

function nextToken(rest: string, isAtFolder: boolean): { readonly token: PatternToken; readonly length: number } {
  const stars = /^\*{2,}/.exec(rest)?.[0].length ?? 0;
  if (stars > 0 && isAtFolder && rest[stars] === "/") return { token: { type: "folders" }, length: stars + 1 };
  if (stars > 0) return { token: { type: "run", takes: anything }, length: stars };
  if (rest.startsWith("*")) return { token: { type: "run", takes: noSlash }, length: 1 };
  if (rest.startsWith("?")) return { token: { type: "one", takes: noSlash }, length: 1 };
  const set = /^\[([!^]?)(\]?[^\]]*)\]/.exec(rest);
  if (set) return { token: { type: "one", takes: oneOf(set[2] ?? "", set[1] !== "") }, length: set[0].length };
  const isEscaped = rest.startsWith("\\") && rest.length > 1;
  const character = String.fromCodePoint(rest.codePointAt(isEscaped ? 1 : 0) ?? 0);
  return { token: { type: "one", takes: literal(character) }, length: character.length + (isEscaped ? 1 : 0) };
}

function oneOf(set: string, isNegated: boolean): (character: string) => boolean {
  const ranges = [...set.matchAll(/(.)-(.)|(.)/gsu)].map(([, from, to, single]) => [
    from ?? single ?? "",
    to ?? single ?? "",
  ]);
  return (character) => {
    const isIn = ranges.some(([from = "", to = ""]) => character >= from && character <= to);
    return noSlash(character) && isIn !== isNegated;
  };
}

/** Walks the path once with all possible places of the glob, so that no glob takes exponential time. */
function matches(tokens: readonly PatternToken[], path: string, effort: WatchEffort): boolean {
  let places = new Set<number>();
  stand({ places, reached: new Set() }, tokens, 0);
  for (const character of path) {
    effort.stepsLeft -= places.size;
    if (effort.stepsLeft < 0) return false;
    const next: Standing = { places: new Set(), reached: new Set() };
    for (const place of places) {
      const token = tokens[place];
      if (token === undefined) continue;
      if (token.type === "folders") {
        // Inside a folder, only its end can advance to the next token.
        next.places.add(place);
        if (character === "/") stand(next, tokens, place + 1);
      } else if (token.takes(character)) stand(next, tokens, token.type === "run" ? place : place + 1);
    }
    places = next.places;
    if (places.size === 0) return false;
  }
  return places.has(tokens.length);
}

interface Standing {
  readonly places: Set<number>;
  /** Places whose successors have been added too. */
  readonly reached: Set<number>;
}

/** Adds a place, and all later places that can be reached without a character. */
function stand({ places, reached }: Standing, tokens: readonly PatternToken[], from: number): void {
  for (let place = from; !reached.has(place); place += 1) {
    reached.add(place);
    places.add(place);
    const token = tokens[place];
    if (token === undefined || token.type === "one") return;
  }
}
