import { anyCharacter, type GlobToken, type MatchEffort, matchesGlob, noSlash } from "../glob.ts";

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
  effort: MatchEffort = watchEffort(),
): boolean {
  if (changed === undefined || effort.stepsLeft < 0) return true;
  effort.stepsLeft -= watchPaths?.length ?? 0;
  const rules = (watchPaths ?? "").split("\n").flatMap((line) => ruleOf(line.trim()));
  if (rules.length === 0) return true;
  const isWatchedByDefault = rules.every(({ isExclusion }) => isExclusion);
  return changed.some((path) => {
    const last = rules.findLast(({ tokens }) => matchesGlob(tokens, path, effort));
    if (effort.stepsLeft < 0) return true;
    return last === undefined ? isWatchedByDefault : !last.isExclusion;
  });
}

/** For all questions about one push: some 40 ms. */
export const watchEffort = (): MatchEffort => ({ stepsLeft: STEPS_MAX });

const STEPS_MAX = 700_000;

interface WatchRule {
  readonly isExclusion: boolean;
  readonly tokens: readonly GlobToken[];
}

function ruleOf(line: string): readonly WatchRule[] {
  const isExclusion = line.startsWith("!");
  const glob = (isExclusion ? line.slice(1).trim() : line).replace(/^\.?\/+/, "");
  if (glob === "") return [];
  // A folder matches everything in it.
  return [{ isExclusion, tokens: tokensOf(glob.endsWith("/") ? `${glob}**` : glob) }];
}

const literal =
  (wanted: string): ((character: string) => boolean) =>
  (character) =>
    character === wanted;

function tokensOf(glob: string): readonly GlobToken[] {
  const tokens: GlobToken[] = [];
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

function nextToken(rest: string, isAtFolder: boolean): { readonly token: GlobToken; readonly length: number } {
  const stars = /^\*{2,}/.exec(rest)?.[0].length ?? 0;
  if (stars > 0 && isAtFolder && rest[stars] === "/") return { token: { type: "folders" }, length: stars + 1 };
  if (stars > 0) return { token: { type: "run", takes: anyCharacter }, length: stars };
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
