const NAMES_MAX = 3;
/** Longer texts are unlikely to be typing errors, and expensive to compare. */
const LENGTH_MAX = 64;

/**
 * The names that were probably meant, the closest first: those that contain the text, and those that differ in a few
 * letters.
 */
export function closestNames(text: string, names: readonly string[]): string[] {
  const wanted = text.toLowerCase();
  if (wanted === "" || wanted.length > LENGTH_MAX) return [];
  return names
    .map((name) => ({ name, far: farness(wanted, name.toLowerCase()) }))
    .filter(({ name, far }) => far <= Math.max(2, Math.floor(name.length / 3)))
    .toSorted((a, b) => a.far - b.far)
    .slice(0, NAMES_MAX)
    .map(({ name }) => name);
}

function farness(text: string, name: string): number {
  if (text.length >= 3 && (name.includes(text) || text.includes(name))) return 1;
  return editDistance(text, name);
}

/** Number of letters to insert, delete or replace (Levenshtein distance). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
