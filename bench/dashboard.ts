// The dashboard in a real browser: what a first page costs, how soon a route is drawn, long lists, and what open tabs
// cost the server.
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import {
  createApplication,
  deploy,
  plainServer,
  temporaryRepository,
} from "../apps/server/e2e/applications.fixture.ts";
import { copiesSql } from "../apps/server/e2e/many-applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { CHROMIUM, CHROMIUM_FLAGS } from "../packages/testing/src/chromium.ts";
import { until } from "../packages/testing/src/until.ts";
import { benchDatabase } from "./database.ts";
import { cpuMs, median, rssMb } from "./measure.ts";
import { openTabs } from "./open-tabs.ts";
import { atMost, type Figure } from "./report.ts";

const THROTTLING = 4;
const FIRST_LOADS = 5;
const ROUTE_ROUNDS = 3;
const BETWEEN_ROUTES_MS = 500;
const OVERVIEW_RESOURCES = 500;
const OVERVIEW_LOADS = 20;
const LIST_RESOURCES = 1_000;
const TABS = 200;
const REST_SECONDS = 10;
const SETTLED_SECONDS = 5;

export async function benchDashboard(): Promise<readonly Figure[]> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
  const repository = temporaryRepository(plainServer("1"));
  const browser: Browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: CHROMIUM_FLAGS,
  });
  try {
    const { uuid } = await createApplication(server, repository, { name: "measured" });
    await deploy(server, uuid);
    const page = await signedIn(browser, server);
    const figures = [...(await firstPage(browser, server)), ...(await routeChanges(page, server, uuid))];
    await database.query(copiesSql(OVERVIEW_RESOURCES - 1));
    figures.push(...(await overview(page, server)));
    await database.query(copiesSql(LIST_RESOURCES - OVERVIEW_RESOURCES, OVERVIEW_RESOURCES));
    figures.push(...(await longList(page, server)));
    await page.context().close();
    for (const { name, measured } of figures) console.log(`  ${name}: ${measured}`);
    return [...figures, ...(await tabs(server))];
  } finally {
    await browser.close();
    await server.dispose();
    repository.dispose();
    await database.stop();
  }
}

async function signedIn(browser: Browser, server: TestServer): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  const { code } = await server.client.auth.createLink.mutate({});
  await page.goto(`${server.url}/sign-in#code=${code}`);
  const password = page.getByLabel("Choose a password");
  await page.getByText(/You are/).waitFor();
  if (await password.isVisible()) await password.fill("a good long passphrase");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

/**
 * The page of somebody who was never here: script as it is sent, and the CPU time of the page's thread until it can be
 * filled in. Time that other programs of the machine take is not the page's, and neither are the 0.13 seconds of
 * what Playwright runs in a page to find a button by its name.
 */
async function firstPage(browser: Browser, server: TestServer): Promise<readonly Figure[]> {
  const works: number[] = [];
  let scriptBytes = 0;
  for (let n = 0; n < FIRST_LOADS; n += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    const scripts = new Set<string>();
    let bytes = 0;
    await devtools.send("Network.enable");
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: THROTTLING });
    devtools.on("Network.responseReceived", ({ requestId, type }) => type === "Script" && scripts.add(requestId));
    devtools.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (scripts.has(requestId)) bytes += encodedDataLength;
    });
    await page.goto(`${server.url}/sign-in`);
    await until(() => isTrue(devtools, HAS_SIGN_IN), { what: "the sign-in is drawn" });
    works.push(await taskMs(devtools));
    scriptBytes = bytes;
    await context.close();
  }
  return [
    atMost("First page, compressed script", scriptBytes / 1024, 250, " KB"),
    atMost(`First page, CPU of the browser at ${THROTTLING} times throttling`, median(works) / 1000, 1, " s"),
  ];
}

const HAS_SIGN_IN = `document.querySelector("button[type=submit]") !== null`;

async function isTrue(devtools: CDPSession, expression: string): Promise<boolean> {
  const { result } = await devtools.send("Runtime.evaluate", { expression });
  return result.value === true;
}

async function taskMs(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
}

/** From the last byte of a page's data, or from the click where they are there, until it is drawn. */
async function routeChanges(page: Page, server: TestServer, uuid: string): Promise<readonly Figure[]> {
  const all = new Map<string, number[]>();
  const ways = ["Deployments", "Variables", "Domains", "Settings", "Overview"];
  await page.goto(`${server.url}/applications/${uuid}`);
  await page.getByRole("tab", { name: "Overview" }).waitFor();
  await page.evaluate(MEASURE_CLICKS);
  // Only the rounds after the first are measured: a part's script is loaded with the first.
  for (let round = 0; round <= ROUTE_ROUNDS; round += 1) {
    for (const name of ways) {
      const tab = page.getByRole("tab", { name, exact: true });
      if ((await tab.count()) === 0) continue;
      await tab.click();
      const drawnMs = Number(await page.evaluate("window.drawnMs"));
      if (round > 0) all.set(name, [...(all.get(name) ?? []), drawnMs]);
      await page.waitForTimeout(BETWEEN_ROUTES_MS); // What is drawn after what is seen is not the next page's.
    }
  }
  const medians = [...all].map(([name, ms]) => ({ name, ms: median(ms) }));
  for (const { name, ms } of medians) console.log(`  ${name} is drawn ${ms.toFixed(0)} ms after its data`);
  return [atMost("A page is drawn after its data", Math.max(...medians.map(({ ms }) => ms)), 100, " ms")];
}

/**
 * Counts from the event itself: Playwright waits for frames before it clicks. Resolves once the tab is selected and no
 * placeholder is left for two frames.
 */
const MEASURE_CLICKS = `addEventListener("click", ({ target, timeStamp }) => {
  const tab = target.closest("[role=tab]");
  performance.clearResourceTimings();
  const isDrawn = () => tab.getAttribute("aria-selected") === "true"
    && document.querySelector(".mantine-Loader-root, .mantine-Skeleton-root") === null;
  window.drawnMs = new Promise((resolve) => {
    const frame = () => requestAnimationFrame(() => {
      if (!isDrawn()) return frame();
      requestAnimationFrame(() => {
        if (!isDrawn()) return frame();
        const drawnAt = performance.now();
        const ends = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/trpc/"))
          .map(({ responseEnd }) => responseEnd).filter((end) => end < drawnAt);
        resolve(drawnAt - Math.max(timeStamp, ...ends));
      });
    });
    frame();
  });
}, { capture: true })`;

/**
 * What a load of the overview costs the server, beside what it does at rest; what its browser has kept is not asked for
 * again. As many loads before are not measured: the first ones are compiled, and what was inserted is observed meanwhile.
 */
async function overview(page: Page, server: TestServer): Promise<readonly Figure[]> {
  const load = async () => {
    await page.goto(server.url);
    await page.getByText(`${OVERVIEW_RESOURCES}`, { exact: true }).first().waitFor();
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
  };
  await forget(page, server);
  for (let n = 0; n < OVERVIEW_LOADS; n += 1) await load();
  const restMsPerSecond = (await restCpuMs(server)) / REST_SECONDS;
  const before = cpuMs(server.pid());
  const begunMs = performance.now();
  for (let n = 0; n < OVERVIEW_LOADS; n += 1) await load();
  const seconds = (performance.now() - begunMs) / 1000;
  const each = (cpuMs(server.pid()) - before - restMsPerSecond * seconds) / OVERVIEW_LOADS;
  return [atMost(`A load of the overview of ${OVERVIEW_RESOURCES} resources, CPU of the server`, each, 5, " ms")];
}

/** No event says what was inserted by SQL. A page of the dashboard keeps what it shows when it is left, so another one. */
async function forget(page: Page, server: TestServer): Promise<void> {
  await page.goto(`${server.url}/api/health`);
  await page.evaluate("sessionStorage.clear()");
}

async function restCpuMs(server: TestServer): Promise<number> {
  const before = cpuMs(server.pid());
  await pause(REST_SECONDS);
  return cpuMs(server.pid()) - before;
}

/** The longest time in which a list answers to nothing, while it is scrolled and filtered. */
async function longList(page: Page, server: TestServer): Promise<readonly Figure[]> {
  await forget(page, server);
  await page.goto(server.url);
  await page.getByText(`${LIST_RESOURCES}`, { exact: true }).first().waitFor();
  await page.evaluate(
    `window.longest = 0;
     new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration); })
       .observe({ type: "longtask" })`,
  );
  const rows = page.getByRole("region", { name: /^Resources of/ });
  for (const part of [0.2, 0.5, 0.8, 1, 0]) {
    await rows.evaluate((element, share) => element.scrollTo({ top: element.scrollHeight * share }), part);
    await page.waitForTimeout(100);
  }
  const filter = page.getByPlaceholder("Filter …");
  await filter.pressSequentially("copy-77");
  await page.getByText(/of 1000/).waitFor();
  await filter.fill("");
  await page.getByText(`${LIST_RESOURCES}`, { exact: true }).first().waitFor();
  const longest = Number(await page.evaluate("window.longest"));
  return [atMost(`Longest stop while ${LIST_RESOURCES} rows are scrolled and filtered`, longest, 1_000, " ms")];
}

/** What tabs that show the overview cost the server while nothing changes. */
async function tabs(server: TestServer): Promise<readonly Figure[]> {
  const memoryBefore = rssMb(server.pid());
  const restBefore = await restCpuMs(server);
  const opened = await openTabs(server, TABS);
  try {
    await until(() => opened.live() === TABS, { what: "every tab is live", seconds: 60 });
    await pause(SETTLED_SECONDS);
    const rest = await restCpuMs(server);
    return [
      atMost(`${TABS} open tabs, memory of the server`, rssMb(server.pid()) - memoryBefore, 60, " MB"),
      atMost(`${TABS} open tabs, share of a core`, (rest - restBefore) / (REST_SECONDS * 10), 5, " %"),
    ];
  } finally {
    opened.close();
  }
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
