/** Texts to be found in other texts. */
export interface TextSet {
  /** How long the longest of the texts is that stands in `text` at `at`; 0 when none does. */
  matchLength(text: string, at: number): number;
  /** Whether one of the texts continues where `text`, read from `at`, ends. */
  isCutAt(text: string, at: number): boolean;
}

/**
 * The texts in order, searched by halving: takes no more memory than they do, and for each place of a searched text
 * no more time than the length of one of them, however many there are. A regular expression of them all would not
 * compile from some thousands on.
 *
 * @param texts Each of `PREFIX_LENGTH` characters or more.
 */
export function textSet(texts: Iterable<string>): TextSet {
  const sorted = [...(texts instanceof Set ? (texts as Set<string>) : new Set(texts))].sort();
  const shorter = shorterOf(sorted);
  const prefixes = new Uint8Array(2 ** Math.max(10, Math.ceil(Math.log2(sorted.length * 16 + 1))));
  const slot = (text: string, at: number) => prefixHash(text, at) & (prefixes.length - 1);
  for (const text of sorted) prefixes[slot(text, 0)] = 1;

  /** The last of the texts that does not come after `text`, the one after it, and what each shares with `text`. */
  const locate = (text: string, at: number) => {
    let before = -1;
    let after = sorted.length;
    let sharedBefore = 0;
    let sharedAfter = 0;
    while (after - before > 1) {
      const middle = (before + after) >> 1;
      const candidate = sorted[middle] ?? "";
      // All that stand between two texts share what those two share.
      const shared = sharedLength(candidate, text, at, Math.min(sharedBefore, sharedAfter));
      // Beyond an end stands NaN, which is less than nothing.
      const isBefore = shared === candidate.length || candidate.charCodeAt(shared) < text.charCodeAt(at + shared);
      if (isBefore) [before, sharedBefore] = [middle, shared];
      else [after, sharedAfter] = [middle, shared];
    }
    return { before, sharedBefore, sharedAfter };
  };

  return {
    matchLength(text, at) {
      if (at + PREFIX_LENGTH > text.length || prefixes[slot(text, at)] === 0) return 0;
      const { before, sharedBefore } = locate(text, at);
      let index = before;
      while (index >= 0 && (sorted[index]?.length ?? 0) > sharedBefore) index = shorter[index] ?? -1;
      return sorted[index]?.length ?? 0;
    },
    isCutAt: (text, at) => locate(text, at).sharedAfter === text.length - at,
  };
}

/** Length of the shortest text. */
export const PREFIX_LENGTH = 4;

/** For each text the longest other one that it begins with, as an index; -1 when there is none. */
function shorterOf(sorted: readonly string[]): Int32Array {
  const shorter = new Int32Array(sorted.length).fill(-1);
  for (let index = 1; index < sorted.length; index++) {
    let candidate = index - 1;
    while (candidate >= 0 && !sorted[index]?.startsWith(sorted[candidate] ?? "")) candidate = shorter[candidate] ?? -1;
    shorter[index] = candidate;
  }
  return shorter;
}

function sharedLength(candidate: string, text: string, at: number, from: number): number {
  const end = Math.min(candidate.length, text.length - at);
  let length = from;
  while (length < end && candidate.charCodeAt(length) === text.charCodeAt(at + length)) length++;
  return length;
}

/** Most places of a text are told by it to hold none of the texts. */
function prefixHash(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + PREFIX_LENGTH; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}
