/** A set of texts to be found in other texts. */
export interface TextSet {
  /** Length of the longest text of the set that `text` contains at `at`; 0 without one. */
  matchLength(text: string, at: number): number;
  /** Whether `text`, read from `at`, ends in the middle of one of the texts. */
  isCutAt(text: string, at: number): boolean;
}

/**
 * Binary search in the sorted texts: needs no memory besides them, and for each position no more time than the length
 * of one text. A regular expression of all would not compile from some thousands on.
 *
 * @param texts Each of `PREFIX_LENGTH` characters or more.
 */
export function textSet(texts: Iterable<string>): TextSet {
  const sorted = [...(texts instanceof Set ? (texts as Set<string>) : new Set(texts))].sort();
  const shorter = shorterOf(sorted);
  const prefixes = new Uint8Array(2 ** Math.max(10, Math.ceil(Math.log2(sorted.length * 16 + 1))));
  const slot = (text: string, at: number) => prefixHash(text, at) & (prefixes.length - 1);
  for (const text of sorted) prefixes[slot(text, 0)] = 1;

  /**
   * The last text that is not after `text`, the next one, and the lengths of the prefixes that they share with `text`.
   */
  const locate = (text: string, at: number) => {
    let before = -1;
    let after = sorted.length;
    let sharedBefore = 0;
    let sharedAfter = 0;
    while (after - before > 1) {
      const middle = (before + after) >> 1;
      const candidate = sorted[middle] ?? "";
      // Texts between two others share at least their common prefix.
      const shared = sharedLength(candidate, text, at, Math.min(sharedBefore, sharedAfter));
      // Beyond an end `charCodeAt` is NaN, so the comparison is false.
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

/** For each text the index of the longest other text that is a prefix of it; -1 without one. */
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

/** A quick test that excludes most positions. */
function prefixHash(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + PREFIX_LENGTH; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}
