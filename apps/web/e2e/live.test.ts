import { readFileSync } from "node:fs";
import { hasChromium, sshKeyPair, until } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApplication, deploy, outcomeOf, temporaryRepository } from "../../server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import {
  accessibilityProblems,
  openBrowser,
  picture,
  settled,
  signIn,
  visit,
  visitSignedIn,
} from "./browser.fixture.ts";
import { moveTo } from "./navigation.fixture.ts";
import { printingApplication, printingRepository } from "./printing.fixture.ts";

describe.skipIf(!hasChromium)("open pages", () => {
  let server: TestServer;
  let browser: Browser;
  let uuid: string;
  const repository = printingRepository();
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
    ({ uuid } = await printingApplication(server, repository, { name: "ticker", ticks: true }));
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    repository.dispose();
  });

  it("show what somebody does in another browser, without a reload", async () => {
    const variables = `/applications/${uuid}/variables`;
    const ben = await visitSignedIn(browser, server, variables);
    const ada = await visitSignedIn(browser, server, variables);
    await ada.page.getByRole("button", { name: "New variable" }).click();
    await ada.page.getByRole("textbox", { name: "Key" }).fill("GREETING");
    await ada.page.getByRole("textbox", { name: "Value" }).fill("good morning");
    await ada.page.getByRole("button", { name: "Add variable" }).click();
    await ben.page.getByRole("button", { name: "GREETING", exact: true }).first().waitFor();

    await moveTo(ben.page, "/");
    await settled(ben.page);
    await ada.page.getByRole("tab", { name: "Settings" }).click();
    await ada.page.getByRole("textbox", { name: "Name", exact: true }).fill("metronome");
    await ada.page.getByRole("button", { name: "Save settings" }).click();
    await ben.page.getByRole("link", { name: "metronome" }).first().waitFor();
    await ada.page.getByRole("button", { name: "Stop" }).click();
    await ada.page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await ben.page.getByRole("row").filter({ hasText: "metronome" }).getByText("Stopped").waitFor();
    await ada.page.getByRole("button", { name: "Deploy", exact: true }).click();
    await ben.page.getByRole("region", { name: "Under way" }).getByText("metronome").waitFor();
    await ben.page
      .getByRole("row")
      .filter({ hasText: "metronome" })
      .getByText(/Running|Healthy/)
      .waitFor();
    for (const { complaints, close } of [ada, ben]) {
      expect(complaints).toEqual([]);
      await close();
    }
  });

  it("show a change by the API within a second of its answer", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    await page.getByText("Live", { exact: true }).waitFor();
    await settled(page);
    const names = Array.from({ length: 7 }, (_, index) => `Measured ${index}`);
    await page.evaluate(`${WATCH_FOR}(${JSON.stringify(names)})`);
    const answered = new Map<string, number>();
    for (const name of names) {
      await server.rest("POST", "/projects", { name });
      // Both are of one machine's clock.
      answered.set(name, Date.now());
      await page.getByRole("heading", { name, exact: true }).waitFor();
    }
    const shown = await page.evaluate<Readonly<Record<string, number>>>("window.shownAtMs");
    const delaysMs = names.map((name) => (shown[name] ?? Number.NaN) - (answered.get(name) ?? 0));
    const median = delaysMs.toSorted((a, b) => a - b)[Math.floor(names.length / 2)];
    expect(median, `Delays in milliseconds: ${delaysMs.join(", ")}`).toBeLessThan(1000);
    expect(complaints).toEqual([]);
    await close();
  });

  it("takes the URLs that search engines must not list as a list", async () => {
    const { client } = server;
    const { fqdn } = await client.applications.get.query({ uuid });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/domains`);
    const field = page.getByRole("textbox", { name: "URLs that search engines must not list" });
    await field.fill(`${fqdn}, https://other.example`);
    await page.getByRole("button", { name: "Save URLs" }).click();
    const saved = async () => (await client.applications.get.query({ uuid })).noindex_domains;
    await until(async () => (await saved())?.join() === `${fqdn},https://other.example`);
    await page.reload();
    expect(await field.inputValue()).toBe(`${fqdn}, https://other.example`);
    await field.fill("");
    await page.getByRole("button", { name: "Save URLs" }).click();
    await until(async () => (await saved()) === null);
    expect(complaints).toEqual([]);
    await close();
  });

  it("show after a reload what they showed before, and read only what changed meanwhile", async () => {
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server);
    await settled(page);
    const reads = readsOf(page);
    // Only a page that follows the events keeps what it shows.
    await page.getByText("Live", { exact: true }).waitFor();
    const isKept = async () => {
      reads();
      await page.reload();
      await page
        .getByRole("row")
        .filter({ hasText: /metronome|ticker/ })
        .waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      // The application may still change, and what is about to be read again is not kept.
      return reads().join() === "auth.current";
    };
    await until(isKept, { what: "A reload reads nothing but the session" });
    await page.goto("/docs");
    await server.client.projects.create.mutate({ name: "Made while away" });
    await page.goto("/");
    await page.getByRole("heading", { name: "Made while away" }).waitFor();
    await settled(page);
    await page.getByText("Live", { exact: true }).waitFor();

    // The session belongs to another team now.
    await page.goto("/docs");
    const kept = await page.evaluate<string>(`sessionStorage.getItem("berth.kept-page")`);
    const { team, ...rest } = JSON.parse(kept);
    await page.evaluate(
      `sessionStorage.setItem("berth.kept-page", ${JSON.stringify(JSON.stringify({ ...rest, team: team + 1 }))})`,
    );
    reads();
    await page.goto("/");
    await page.getByRole("heading", { name: "Made while away" }).waitFor();
    expect(reads()).toContain("resources.summaries");
    await settled(page);

    await page.getByRole("banner").getByRole("button").last().click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(await page.evaluate(`sessionStorage.getItem("berth.kept-page")`)).toBeNull();
    expect(complaints).toEqual([]);
    await close();
  });

  it("show the checks of a server with their results while it is validated", async () => {
    const { privateKey } = sshKeyPair();
    const { uuid: private_key_uuid } = await server.client.privateKeys.create.mutate({ private_key: privateKey });
    // Nothing listens there.
    const far = { name: "far", ip: "127.0.0.7", port: 9, private_key_uuid };
    const { uuid: silent } = await server.client.servers.create.mutate(far);
    const [own] = await server.client.servers.list.query({});
    const { page, complaints, close } = await visitSignedIn(browser, server, `/servers/${own?.uuid}`);
    const check = (text: string | RegExp) => page.getByRole("list", { name: "Checks" }).getByText(text);
    await page.getByRole("button", { name: "Validate" }).click();
    for (const name of ["Engine", "Proxy", "Disk"]) await check(name).waitFor();
    await check(/of .* GB are free|is .* % full/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "server-checks");
    await page.goto(`/servers/${silent}`);
    await page.getByRole("button", { name: "Validate" }).click();
    await check("Machine").waitFor();
    await check(/127\.0\.0\.7/).waitFor();
    await picture(page, "server-checks-failed");
    expect(complaints).toEqual([]);
    await close();
  });

  it("say that the server is gone, and show everything that happened once it is back", async () => {
    const overview = await visitSignedIn(browser, server, "/");
    const log = await visitSignedIn(browser, server, `/applications/${uuid}/logs`);
    await log.page
      .getByText(/^line \d+$/)
      .first()
      .waitFor();
    await server.kill();
    for (const { page } of [log, overview]) await page.getByText("Offline").waitFor();
    await picture(overview.page, "offline");
    await server.start();
    // The pages are not connected yet, and have received no event before.
    await server.client.projects.create.mutate({ name: "Made meanwhile" });
    for (const { page } of [log, overview]) await page.getByText("Live", { exact: true }).waitFor();
    await overview.page.getByRole("heading", { name: "Made meanwhile" }).waitFor();
    const last = await newestLine(log.page);
    await until(async () => ((await newestLine(log.page)) > last + 20 ? true : undefined), {
      what: "The log continues",
    });
    const lines = await linesOf(log.page);
    // Every line once, also those that were printed while nobody read.
    const [first = 0] = lines;
    expect(lines).toEqual(lines.map((_line, index) => first + index));
    await log.close();
    await overview.close();
  });

  it("show the times of a log, and how that of a stopped application continues", async () => {
    const { client } = server;
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/logs`);
    const line = page.getByText(/^line \d+$/).first();
    await line.waitFor();
    const time = page.locator(".log-time").filter({ hasText: /^\d\d:\d\d:\d\d$/ });
    await time.first().waitFor();
    await page.getByRole("switch", { name: "Times" }).click();
    await time.first().waitFor({ state: "detached" });

    await client.applications.stop.mutate({ uuid });
    const isOver = async () => (await client.applications.get.query({ uuid })).status.startsWith("exited");
    await until(isOver, { seconds: 60, what: "It is stopped" });
    await page.goto(`/applications/${uuid}/logs`);
    await line.waitFor();
    await time.first().waitFor();
    await client.applications.start.mutate({ uuid });
    // A new run counts from the beginning.
    await page.getByText("line 1", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

describe.skipIf(!hasChromium)("the log of an application with previews", () => {
  const sourceOf = (text: string) => ({
    "package.json": JSON.stringify({ name: "printing", version: "1.0.0", scripts: { start: "node server.js" } }),
    "server.js": `console.log(${JSON.stringify(text)});
      require("node:http").createServer((_request, response) => response.end()).listen(process.env.PORT);
      process.on("SIGTERM", () => process.exit(0));`,
  });
  const repository = temporaryRepository(sourceOf("printed by main"));
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    repository.git("checkout", "--quiet", "-b", "feature");
    repository.commit(sourceOf("printed by the pull request"), "Print something else");
    repository.git("update-ref", "refs/pull/7/head", "HEAD");
    repository.git("checkout", "--quiet", "main");
    server = await testServer();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    repository.dispose();
  });

  it("shows what the preview of a pull request prints once that is chosen", async () => {
    const settings = { name: "previewed", is_preview_deployments_enabled: true };
    const { uuid } = await createApplication(server, repository, settings);
    await deploy(server, uuid);
    const { deployments = [] } = await server.client.deploy.mutate({ uuid, pull_request_id: 7 });
    const outcome = await outcomeOf(server, deployments[0]?.deployment_uuid ?? "");
    expect(outcome.status, outcome.log).toBe("finished");
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/logs`);
    await page.getByText("printed by main", { exact: true }).waitFor();
    await page.getByRole("combobox", { name: "Log of" }).click();
    await page.getByRole("option", { name: "Pull request 7" }).click();
    await page.getByText("printed by the pull request", { exact: true }).waitFor();
    expect(await page.getByText("printed by main", { exact: true }).count()).toBe(0);
    await picture(page, "log-preview");
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

/** Names of the operations that the page read over HTTP since the last call. */
function readsOf(page: Page): () => readonly string[] {
  const names: string[] = [];
  page.on("request", (request) => {
    const [, called] = /\/trpc\/([^?]+)\?/.exec(request.url()) ?? [];
    if (called !== undefined && request.method() === "GET") names.push(...called.split(","));
  });
  return () => names.splice(0);
}

/** Number of the last line in view. */
async function newestLine(page: Page): Promise<number> {
  const shown = await page.getByText(/^line \d+$/).allTextContents();
  return Math.max(0, ...shown.map((text) => Number(text.replace("line ", ""))));
}

/** Numbers of all lines in the viewer, from the file that it offers. A browser allows only some downloads in a row. */
async function linesOf(page: Page): Promise<readonly number[]> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  const text = readFileSync(await download.path(), "utf8");
  return [...text.matchAll(/^(?:\S+Z )?line (\d+)$/gm)].map(([, number]) => Number(number));
}

/** A function of the page: records when each of these headings appears, in `shownAtMs`. */
const WATCH_FOR = `((names) => {
  window.shownAtMs = {};
  const look = () => {
    const headings = new Set([...document.querySelectorAll("h1, h2, h3")].map(({ textContent }) => textContent));
    for (const name of names) if (headings.has(name)) window.shownAtMs[name] ??= Date.now();
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
})`;
