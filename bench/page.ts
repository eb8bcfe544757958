const [BEGIN, END] = ["<!-- runs -->\n", "<!-- end of runs -->"];
const RUNS_MAX = 3;

/** Puts a run before the earlier ones of `docs/performance.md`, which keeps the last three. */
export function withRun(page: string, run: { readonly title: string; readonly table: string }): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin)
    throw new Error(`docs/performance.md has lost the lines ${BEGIN.trim()} and ${END}.`);
  const earlier = page
    .slice(begin + BEGIN.length, end)
    .split(/^(?=## )/m)
    .map((text) => text.trim())
    .filter((text) => text !== "");
  const runs = [`## ${run.title}\n\n${run.table}`, ...earlier].slice(0, RUNS_MAX);
  return `${page.slice(0, begin)}${BEGIN}\n${runs.join("\n\n")}\n\n${page.slice(end)}`;
}
