import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CHROMIUM, CHROMIUM_FLAGS, describeUnless, hasChromium, lateReason, until } from "@berth/testing";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import type { TestServer } from "../../server/e2e/server.fixture.ts";

/** Folder for screenshots of the pages, renewed by each run. */
const PICTURES = fileURLToPath(new URL("../../../reports/dashboard/", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export type Scheme = "light" | "dark";
export const WIDE = 1280;
export const NARROW = 390;

/** A suite with a browser that shows many pages, see `describeLarge`. */
export const describeLargeInBrowser = (name: string, suite: () => void): void =>
  describeUnless(hasChromium ? lateReason() : "Chromium is not installed", name, suite);

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args: CHROMIUM_FLAGS,
  });

type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

export interface Visit {
  readonly page: Page;
  /** Errors of console, scripts and content security policy, and requests to other servers. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

interface Look {
  readonly scheme?: Scheme;
  readonly width?: number;
}

/** @param session Cookies and storage of another visit that is signed in. */
export async function visit(
  browser: Browser,
  url: string,
  { scheme = "light", width = WIDE }: Look = {},
  session?: Session,
): Promise<Visit> {
  // Without a graphics card each frame of an animation is drawn by the processor.
  const look = { colorScheme: scheme, reducedMotion: "reduce" } as const;
  const context = await browser.newContext({
    ...{ ...look, viewport: { width, height: 900 }, baseURL: url },
    ...(session && { storageState: session }),
  });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000); // A bound for what never comes.
  const complaints: string[] = [];
  // The part is reloaded together with its page.
  const complain = (text: string) => {
    if (!isNetworkChange(text) && !/dynamically imported module/.test(text)) complaints.push(text);
  };
  page.on("console", (message) => {
    // A refused request is described without its address.
    const { url: source } = message.location();
    if (message.type() === "error") complain(`${message.text()} ${decodeURIComponent(source)}`.trim());
  });
  // A script that catches the refusal prints nothing.
  await page.addInitScript({ content: TELL_VIOLATIONS });
  page.on("pageerror", (error) => complain(String(error)));
  page.on("request", (request) => {
    if (!/^(data|blob|chrome-error):/.test(request.url()) && !request.url().startsWith(`${url}/`))
      complaints.push(request.url());
  });
  page.on("requestfailed", (request) => {
    if (!isNetworkChange(request.failure()?.errorText ?? "")) return;
    disturbed.add(page);
    if (["stylesheet", "script"].includes(request.resourceType())) incomplete.add(page);
  });
  page.goto = persistent(page, page.goto.bind(page));
  return { page, complaints, close: () => context.close() };
}

const TELL_VIOLATIONS = `document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("Refused by", violatedDirective, blockedURI));`;

/** Pages with failed requests, and pages of which a part failed to load. */
const disturbed = new WeakSet<Page>();
const incomplete = new WeakSet<Page>();

/**
 * Chromium aborts requests when a network interface appears or disappears, such as those of containers. The page that
 * it shows then may interrupt the next navigation.
 */
const isNetworkChange = (text: string): boolean =>
  text.includes("net::ERR_NETWORK_CHANGED") || text.includes("chrome-error://chromewebdata");

const persistent =
  (page: Page, goto: Page["goto"]): Page["goto"] =>
  async (...args) => {
    for (let attempt = 1; ; attempt++) {
      try {
        incomplete.delete(page);
        const response = await goto(...args);
        if (attempt === GOTO_ATTEMPTS || !incomplete.has(page)) return response;
      } catch (error) {
        if (attempt === GOTO_ATTEMPTS || !isNetworkChange(String(error))) throw error;
      }
    }
  };
const GOTO_ATTEMPTS = 10;

/**
 * Signs in by a link; the first time the user also sets a password. Repeated with another link when a request failed:
 * the first one may have been used.
 * @param linkOf Link of another user than the server's own.
 */
export async function signIn(
  page: Page,
  { client }: TestServer,
  linkOf: () => Promise<{ readonly code: string }> = () => client.auth.createLink.mutate({}),
): Promise<void> {
  await undisturbed(page, async (attempt) => {
    // Another page first: only the hash would change otherwise, which loads nothing.
    if (attempt > 1) await page.goto("/sign-in");
    await page.goto(`/sign-in#code=${(await linkOf()).code}`);
    const password = page.getByLabel("Choose a password");
    await shown(page, page.getByText(/You are/));
    if (await password.isVisible()) await password.fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await shown(page, page.getByRole("heading", { name: "Overview" }));
  });
}

/** Sessions of the servers' own users. */
const sessions = new WeakMap<TestServer, Session>();

/**
 * A visit of the server's own user, at a page that is loaded by its address. All such visits of a server have one
 * session, because signing in loads two pages more. Tests that end the session, or need a new one, use `signIn`.
 */
export async function visitSignedIn(browser: Browser, server: TestServer, path: string, look?: Look): Promise<Visit> {
  const session = sessions.get(server);
  const opened = await visit(browser, server.url, look, session);
  if (session === undefined) {
    await signIn(opened.page, server);
    sessions.set(server, await opened.page.context().storageState());
  }
  await opened.page.goto(path);
  await settled(opened.page);
  return opened;
}

/**
 * Repeats work on a page that had failed requests, when it fails or its result is not what it should be. Earlier
 * failures of the page count too: it may have been loaded without a part.
 */
async function undisturbed<T>(
  page: Page,
  work: (attempt: number) => Promise<T>,
  isGood: (result: T) => boolean = () => true,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const mayRepeat = () => attempt < GOTO_ATTEMPTS && disturbed.delete(page);
    try {
      const result = await work(attempt);
      if (isGood(result) || !mayRepeat()) return result;
    } catch (error) {
      if (!mayRepeat()) throw error;
    }
  }
}

/**
 * Waits for an element, and for a shorter time where a request of the page failed.
 * @param gone What must not be there any more.
 */
async function shown(page: Page, element: Locator, gone?: Locator): Promise<void> {
  const beganMs = performance.now();
  const isLost = () => disturbed.has(page) && performance.now() - beganMs > DISTURBED_MS;
  const isShown = async () => (await element.isVisible()) && ((await gone?.count()) ?? 0) === 0;
  // Asked once: what was shown may be replaced in the next moment.
  let wasShown = false;
  const end = async () => {
    wasShown = await isShown();
    return wasShown || isLost();
  };
  await until(end, { seconds: 120, what: String(element) });
  if (!wasShown) throw new Error(`Not shown after a failed request: ${element}`);
}
const DISTURBED_MS = 15_000;

export const PASSWORD = "a good long passphrase";

/** Waits until the page has received all of its data. */
export async function settled(page: Page): Promise<void> {
  const loading = page.locator(".mantine-Loader-root, .mantine-Skeleton-root");
  const isWhole = async (attempt: number) => {
    if (attempt > 1) await page.goto(page.url());
    await shown(page, page.locator("h1").first(), loading);
    return !incomplete.delete(page);
  };
  await undisturbed(page, isWhole, (whole) => whole);
}

/**
 * Shows another page of the signed-in user as a link does: through the page's router, without loading the application
 * again. Resolves when the router has drawn the new page, of which data may still be missing (`settled`).
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  await undisturbed(page, async (attempt) => {
    // A page of which a part failed to load reloads itself.
    if (attempt > 1) await page.goto(path);
    else await page.evaluate(`${MOVE}(${JSON.stringify(path)})`);
  });
}

/** A function of the page. The router reports a page as rendered after React has replaced the earlier one by it. */
const MOVE = `((path) => new Promise((resolve, reject) => {
  const router = window.__TSR_ROUTER__;
  const shown = () => location.pathname + location.search;
  if (shown() === path) return reject(new Error("Already at " + path));
  const late = setTimeout(() => reject(new Error("Not drawn within two minutes: " + path)), 120_000);
  const end = router.subscribe("onRendered", ({ toLocation }) => {
    if (toLocation.href !== path) return;
    clearTimeout(late);
    end();
    resolve();
  });
  router.history.push(path);
}))`;

/** Violations reported by axe, with their places. */
export async function accessibilityProblems(
  page: Page,
  runOnly: readonly string[] = STANDARDS,
): Promise<readonly string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(AXE);
  await drawn(page);
  // Passed as text, because code in the page has other globals than this file.
  // Describing every element that passed takes longer than the checks.
  const options = { runOnly, resultTypes: ["violations"], selectors: false };
  const answer = await page.evaluate(`axe.run(${JSON.stringify(options)})`);
  const { violations } = answer as { readonly violations: readonly Violation[] };
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
}

const STANDARDS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What the page looks like in each scheme and width. The schemes of a width differ in their colours only. */
const LOOKS: readonly (readonly [number, Scheme, readonly string[]])[] = [
  [WIDE, "light", STANDARDS],
  [WIDE, "dark", ["color-contrast"]],
  [NARROW, "dark", ["color-contrast"]],
  [NARROW, "light", STANDARDS],
];

/** Loads each page once, shows it in every look, and returns what axe objects to, by page and look. */
export async function problemsOfPages(page: Page, paths: Readonly<Record<string, string>>) {
  const found: Record<string, readonly string[]> = {};
  for (const [name, path] of Object.entries(paths)) {
    for (const [look, problems] of await undisturbed(page, () => problemsOfPage(page, name, path), hasNone)) {
      found[`${name}-${look}`] = problems;
    }
  }
  return found;
}

const hasNone = (problems: readonly unknown[]) => problems.length === 0;

async function problemsOfPage(page: Page, name: string, path: string) {
  await show(page, "light", WIDE);
  await page.goto(path);
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

/** Waits until dialogs and colours have faded in: half-transparent text has too little contrast. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const ending = document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity);
    await Promise.all(ending.map(({ finished }) => finished.catch(() => {})));
  })()`);
}

export async function expectNothingSticksOut(page: Page): Promise<void> {
  const tooWide = await page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const out = [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > width);
    return out.map((one) => one.outerHTML.slice(0, 120));
  })()`);
  expect({ url: page.url(), tooWide }).toEqual({ url: page.url(), tooWide: [] });
  const scrolled = await page.evaluate(`[...document.querySelectorAll("main [role=table]")]
    .filter((table) => table.scrollWidth > table.parentElement.clientWidth)
    .map((table) => table.parentElement.ariaLabel)`);
  expect({ url: page.url(), scrolled }).toEqual({ url: page.url(), scrolled: [] });
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}${name}.png` });
}
