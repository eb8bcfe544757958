import type { Page } from "playwright-core";
import {
  accessibilityProblems,
  drawn,
  expectNothingSticksOut,
  NARROW,
  picture,
  type Scheme,
  STANDARDS,
  settled,
  WIDE,
} from "./browser.fixture.ts";
import { byAddress, type Opening } from "./navigation.fixture.ts";
import { undisturbed } from "./network-change.fixture.ts";

/** What the page looks like in each scheme and width. The schemes of a width differ in their colours only. */
const LOOKS: readonly (readonly [number, Scheme, readonly string[]])[] = [
  [WIDE, "light", STANDARDS],
  [WIDE, "dark", ["color-contrast"]],
  [NARROW, "dark", ["color-contrast"]],
  [NARROW, "light", STANDARDS],
];

/** Opens each page once, shows it in every look, and returns what axe objects to, by page and look. */
export async function problemsOfPages(page: Page, paths: Readonly<Record<string, string>>, open: Opening) {
  const found: Record<string, readonly string[]> = {};
  for (const [name, path] of Object.entries(paths)) {
    const problemsOf = async (attempt: number) => {
      await show(page, "light", WIDE);
      await (attempt > 1 ? byAddress : open)(page, path);
      return await problemsOfPage(page, name);
    };
    for (const [look, problems] of await undisturbed(page, problemsOf, hasNone)) {
      found[`${name}-${look}`] = problems;
    }
  }
  return found;
}

const hasNone = (problems: readonly unknown[]) => problems.length === 0;

async function problemsOfPage(page: Page, name: string) {
  await settled(page);
  const found: [string, readonly string[]][] = [];
  for (const [width, scheme, rules] of LOOKS) {
    await show(page, scheme, width);
    await picture(page, `${name}-${scheme}-${width}`);
    await expectNothingSticksOut(page);
    const problems = await accessibilityProblems(page, rules);
    if (problems.length > 0) found.push([`${scheme}-${width}`, problems]);
    const hovered = width === WIDE ? await hoveredProblems(page) : [];
    if (hovered.length > 0) found.push([`${scheme}-${width}-hovered`, hovered]);
  }
  return found;
}

/** What axe objects to when everything is hovered at once; by itself it sees elements at rest only. */
async function hoveredProblems(page: Page): Promise<readonly string[]> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("DOM.enable");
  await devtools.send("CSS.enable");
  const { root } = await devtools.send("DOM.getDocument");
  const { nodeIds } = await devtools.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector: HOVERABLE });
  for (const nodeId of nodeIds) {
    // An element that the page has replaced since is not shown either.
    await devtools.send("CSS.forcePseudoState", { nodeId, forcedPseudoClasses: ["hover"] }).catch(() => {});
  }
  const problems = await accessibilityProblems(page, ["color-contrast"]);
  // Ends the states that it forced.
  await devtools.detach();
  await drawn(page);
  return problems;
}

const HOVERABLE = "a, button, label, tr, li, input, select, textarea, [role=tab], [role=option], [role=region]";

/** Changes scheme and width, and waits until the page has followed. */
async function show(page: Page, scheme: Scheme, width: number): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
  if (page.url() === "about:blank") return;
  await page.locator(`html[data-mantine-color-scheme=${scheme}]`).waitFor();
  await drawn(page);
}
