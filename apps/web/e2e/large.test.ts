import { request } from "node:http";
import { type TestDatabase, testDatabase, until, withClient } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copiesSql } from "../../server/e2e/many-applications.fixture.ts";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { describeLargeInBrowser, openBrowser, picture, settled, visitSignedIn } from "./browser.fixture.ts";
import { printingApplication, printingRepository } from "./printing.fixture.ts";

const LINES = 100_000;
const APPLICATIONS = 1000;
/** The lines of the viewer are objects of a hundred bytes each; a second copy of them all would not fit. */
const HEAP_MB_MAX = 120;
/** Far more than fit on the screen. */
const ELEMENTS_MAX = 6000;

describeLargeInBrowser("pages with much on them", () => {
  let database: TestDatabase;
  let server: TestServer;
  let browser: Browser;
  let application: { readonly uuid: string; readonly host: string };
  const repository = printingRepository();
  beforeAll(async () => {
    database = await testDatabase({ backend: "tcp" });
    server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
    browser = await openBrowser();
    application = await printingApplication(server, repository, { name: "measured", ticks: false });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await database?.close();
    repository.dispose();
  });

  it("show 100,000 lines of a log as they come, by scrolling and by searching, in bounded memory", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${application.uuid}/logs`);
    await page.getByText("It has printed nothing yet").waitFor();
    await print(server, application.host, LINES);
    const search = page.getByLabel("Search the log");
    await page.getByText(`line ${LINES}`, { exact: true }).waitFor({ timeout: 200_000 });
    await picture(page, "log-100000-lines");
    expect(await elementsOf(page)).toBeLessThan(ELEMENTS_MAX);
    const viewer = page.getByRole("log");
    await viewer.hover();
    await page.mouse.wheel(0, -400);
    await viewer.evaluate((element) => element.scrollTo({ top: 0 }));
    await page.getByText("line 1", { exact: true }).waitFor();
    await viewer.evaluate((element) => element.scrollTo({ top: element.scrollHeight / 2 }));
    await page
      .getByText(/^line (49|50)\d{3}$/)
      .first()
      .waitFor();
    await search.fill(`line ${LINES - 1}`);
    await page.getByRole("status").getByText("1 of 1", { exact: true }).waitFor();
    await page.getByLabel("Only matching lines").check({ force: true });
    await page.getByText(`1 of ${LINES} lines`).waitFor();
    await search.fill("");
    expect(await heapMb(page)).toBeLessThan(HEAP_MB_MAX);
    expect(await elementsOf(page)).toBeLessThan(ELEMENTS_MAX);
    expect(complaints).toEqual([]);
    await close();
  });

  it("list 1,000 applications, which can be scrolled and filtered, and drawn are those that are seen", async () => {
    await withClient({ connectionString: database.url }, (client) => client.query(copiesSql(APPLICATIONS - 1)));
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    await page.getByText(`${APPLICATIONS}`, { exact: true }).waitFor();
    await settled(page);
    await picture(page, "overview-1000-applications");
    expect(await elementsOf(page)).toBeLessThan(ELEMENTS_MAX);
    const filter = page.getByPlaceholder("Filter …");
    await filter.fill("measured");
    await withClient({ connectionString: database.url }, (client) => client.query(USAGE));
    await page.getByRole("row", { name: /measured .*12 %, 34 MB/ }).waitFor();
    await page
      .getByTitle("CPU and memory of all that runs")
      .getByText(/^\d+ %, \d+ MB$/)
      .waitFor();
    await picture(page, "overview-usage");
    await filter.fill("copy-77");
    // copy-77, and copy-770 to copy-779
    await page.getByText(`11 of ${APPLICATIONS}`).waitFor();
    await page.getByRole("link", { name: "copy-777", exact: true }).waitFor();
    await filter.fill("nothing has this name");
    await page.getByText(`0 of ${APPLICATIONS}`).waitFor();
    await filter.fill("");
    await page.getByText(`${APPLICATIONS}`, { exact: true }).waitFor();
    const rows = page.getByRole("region", { name: /^Resources of/ });
    await rows.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page
      .getByRole("link", { name: /^(copy-999|measured)$/ })
      .first()
      .waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(100);
    expect(complaints).toEqual([]);
    await close();
  });
});

/** What the one that runs uses, as the worker would have sampled it. */
const USAGE = `
  with sample as (
    insert into metric (resource_id, at, deployment_uuid, cpu_percent, memory_bytes, processes)
    select id, now(), 'd1', 12, 34000000, 1 from resource where name = 'measured' returning 1
  )
  select pg_notify('berth_metric', 'added') from sample`;

const elementsOf = async (page: Page): Promise<number> =>
  Number(await page.evaluate("document.querySelectorAll('*').length"));

/** What is in use after what is not was collected. */
async function heapMb(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.enable");
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  await devtools.detach();
  return usedSize / 1024 / 1024;
}

/** Makes the application print this many lines, through the proxy. */
const print = ({ proxyPort }: TestServer, host: string, count: number): Promise<true> =>
  until(
    () =>
      new Promise<true | undefined>((resolve) => {
        const asked = request(
          { host: "127.0.0.1", port: proxyPort, path: `/?count=${count}`, headers: { host } },
          (response) => {
            response.resume();
            response.on("end", () => resolve(response.statusCode === 200 ? true : undefined));
          },
        );
        asked.on("error", () => resolve(undefined));
        asked.end();
      }),
  );
