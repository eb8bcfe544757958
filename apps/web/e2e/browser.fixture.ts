import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CHROMIUM, CHROMIUM_FLAGS, describeUnless, hasChromium, lateReason } from "@berth/testing";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import {
  isIncomplete,
  isNetworkChange,
  persistent,
  recordDisturbance,
  shown,
  undisturbed,
} from "./network-change.fixture.ts";

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
    if (isNetworkChange(request.failure()?.errorText ?? "")) recordDisturbance(page, request.resourceType());
  });
  page.goto = persistent(page, page.goto.bind(page));
  return { page, complaints, close: () => context.close() };
}

const TELL_VIOLATIONS = `document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("Refused by", violatedDirective, blockedURI));`;

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
    await visible(page, page.getByText(/You are/));
    if (await password.isVisible()) await password.fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await visible(page, page.getByRole("heading", { name: "Overview" }));
  });
}

const visible = (page: Page, element: Locator) => shown(page, String(element), () => element.isVisible());

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

export const PASSWORD = "a good long passphrase";

/** Waits until the page has received all of its data. */
export async function settled(page: Page): Promise<void> {
  const isWhole = async (attempt: number) => {
    if (attempt > 1) await page.goto(page.url());
    await shown(page, "A title, and nothing that is loading", () => page.evaluate<boolean>(WHOLE));
    return !isIncomplete(page);
  };
  await undisturbed(page, isWhole, (whole) => whole);
}

/**
 * Waits within the page for at most a second: to ask for each look from here costs a sixth of what it costs to load the
 * page. It looks every second frame at most, since the browser computes styles for it, and twice: what is drawn in
 * slices may begin to load something with the next frame.
 */
const WHOLE = `new Promise((resolve) => {
  const isWhole = () =>
    document.querySelector(".mantine-Loader-root, .mantine-Skeleton-root, form[aria-busy=true]") === null &&
    document.querySelector("h1")?.checkVisibility({ visibilityProperty: true }) === true;
  const end = (whole) => {
    observer.disconnect();
    clearTimeout(late);
    resolve(whole);
  };
  let isDue = false;
  let wasWhole = false;
  const look = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      isDue = false;
      const isWholeNow = isWhole();
      if (isWholeNow && wasWhole) return end(true);
      wasWhole = isWholeNow;
      if (wasWhole) look();
    }));
  };
  const observer = new MutationObserver(look);
  const late = setTimeout(() => end(false), 1000);
  observer.observe(document, { subtree: true, childList: true, attributes: true });
  look();
})`;

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

export const STANDARDS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Waits until dialogs and colours have faded in: half-transparent text has too little contrast. */
export async function drawn(page: Page): Promise<void> {
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
