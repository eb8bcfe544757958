import { readFile } from "node:fs/promises";
import { until } from "@berth/testing";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { accessibilityProblems } from "./browser.fixture.ts";
import { describeComponents } from "./components.fixture.ts";

/** Far fewer than a log has: what a window shows, and some above and below. */
const ROWS_MAX = 150;

describeComponents("the log viewer", (show) => {
  it("says what an empty log means, and has nothing to download", async () => {
    const { page, close } = await show("log-viewer");
    await page.getByText("Nothing was printed yet.").waitFor();
    expect(await page.getByRole("button", { name: "Download" }).isDisabled()).toBe(true);
    expect(await page.getByLabel("Times").count()).toBe(0);
    await close();
  });

  it("follows the end until it is scrolled up, by wheel, key or scroll bar, and again when told to", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 500);
    await lineOf(page, 500).waitFor();
    await print(page, 500);
    await lineOf(page, 1000).waitFor();
    const log = page.getByRole("log", { name: "api log" });
    const follow = page.getByLabel("Follow");
    const scrollUp = {
      wheel: async () => {
        await log.hover();
        await page.mouse.wheel(0, -400);
      },
      key: () => log.press("PageUp"),
      // A dragged scroll bar is a scroll without any other event.
      bar: () => page.evaluate("document.querySelector('[role=log]').scrollTop -= 400"),
    };
    let last = 1000;
    for (const [by, scroll] of Object.entries(scrollUp)) {
      await scroll();
      await until(async () => !(await follow.isChecked()), { what: `Follow is off after ${by}` });
      const at = await restingPlace(page);
      await print(page, 100);
      last += 100;
      await until(async () => (await heightOf(page)) >= last * 20);
      await drawn(page);
      expect([by, await scrollTopOf(page), await lineOf(page, last).count()]).toEqual([by, at, 0]);
      await follow.check({ force: true });
      await lineOf(page, last).waitFor();
    }
    await close();
  });

  it("keeps following while a search, its end or wrapped lines change how high the log is", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 1000);
    await lineOf(page, 1000).waitFor();
    await page.getByLabel("Search the log").fill("line 99");
    await statusOf(page, "11 hits").waitFor();
    await lineOf(page, 1000).waitFor();
    await onlyMatching(page).check({ force: true });
    await statusOf(page, "11 hits, 11 of 1000 lines").waitFor();
    await until(async () => (await page.locator(".log-line").count()) === 11, { what: "only those lines are drawn" });
    await page.getByLabel("Search the log").fill("");
    await lineOf(page, 1000).waitFor();
    await page.getByLabel("Wrap").check({ force: true });
    await print(page, 10);
    await lineOf(page, 1010).waitFor();
    await page.setViewportSize({ width: 1280, height: 1200 });
    await print(page, 10);
    await lineOf(page, 1020).waitFor();
    expect(await page.getByLabel("Follow").isChecked()).toBe(true);
    await close();
  });

  it("marks what is searched among all lines, and goes from hit to hit and round the ends", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 1000);
    await lineOf(page, 1000).waitFor();
    const search = page.getByLabel("Search the log");
    await search.fill("line 50");
    await statusOf(page, "11 hits").waitFor();
    // Following stays on until a hit is gone to, which is the nearest one.
    expect(await page.getByLabel("Follow").isChecked()).toBe(true);
    await search.press("Enter");
    await atHit(page, 11, 11, 509);
    expect(await page.getByLabel("Follow").isChecked()).toBe(false);
    expect(await page.locator("mark").count()).toBeGreaterThan(1);
    expect(await page.getByRole("log").getByText("line 510", { exact: true }).count()).toBe(1);
    await search.press("Enter");
    await atHit(page, 1, 11, 50);
    await search.press("Shift+Enter");
    await atHit(page, 11, 11, 509);
    await page.getByRole("button", { name: "Previous hit" }).click();
    await atHit(page, 10, 11, 508);
    await page.getByRole("button", { name: "Next hit" }).press("Enter");
    await atHit(page, 11, 11, 509);
    await page.getByRole("log").press("F3");
    await atHit(page, 1, 11, 50);
    await search.press("Shift+F3");
    await atHit(page, 11, 11, 509);
    // Another search begins where the last one was.
    await search.fill("line 51");
    await atHit(page, 2, 11, 510);
    await print(page, 4200);
    await statusOf(page, "2 of 111").waitFor();
    await atHit(page, 2, 111, 510);
    await search.fill("nowhere");
    await statusOf(page, "0 hits").waitFor();
    expect(await page.getByRole("button", { name: "Next hit" }).isDisabled()).toBe(true);
    expect(await page.locator("mark").count()).toBe(0);
    await close();
  });

  it("shows a hit far to the right, and each of several hits of a line by itself, across its colours", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 100);
    await write(page, `left ${".".repeat(600)} ri\u001b[31mght\u001b[0m left`);
    await print(page, 100);
    const search = page.getByLabel("Search the log");
    await search.fill("LEFT");
    await search.press("Enter");
    await statusOf(page, "1 of 2").waitFor();
    await search.press("Enter");
    await statusOf(page, "2 of 2").waitFor();
    await until(() => isSeen(page));
    await search.press("Enter");
    await statusOf(page, "1 of 2").waitFor();
    await until(() => isSeen(page));
    await search.fill("right");
    await statusOf(page, "1 of 1").waitFor();
    expect(await page.locator("mark.log-hit-current").allTextContents()).toEqual(["ri", "ght"]);
    await until(() => isSeen(page));
    await close();
  });

  it("goes through the hits of 100,000 lines, wrapped ones too, and keeps the hit when only matching lines are shown", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 100_000);
    await lineOf(page, 100_000).waitFor();
    const search = page.getByLabel("Search the log");
    await search.fill("line 4999");
    await search.press("Enter");
    await atHit(page, 11, 11, 49_999);
    await search.press("Enter");
    await atHit(page, 1, 11, 4999);
    await page.getByLabel("Wrap").check({ force: true });
    await search.press("Enter");
    await atHit(page, 2, 11, 49_990);
    expect(await page.locator(".log-line").count()).toBeLessThan(ROWS_MAX);
    await onlyMatching(page).check({ force: true });
    await statusOf(page, "2 of 11, 11 of 100000 lines").waitFor();
    await search.press("Enter");
    await until(async () => (await page.locator("mark.log-hit-current").textContent()) === "line 4999");
    await statusOf(page, "3 of 11, 11 of 100000 lines").waitFor();
    await onlyMatching(page).uncheck({ force: true });
    await atHit(page, 3, 11, 49_991);
    await close();
  });

  it("shows only lines that contain what is searched when told to, in any case and across colours", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 200);
    await write(page, "Payment \u001b[31mre\u001b[32mfused\u001b[0m");
    const search = page.getByLabel("Search the log");
    await search.fill("PAYMENT REFUSED");
    await onlyMatching(page).check({ force: true });
    await statusOf(page, "1 hit, 1 of 201 lines").waitFor();
    await until(async () => (await page.locator(".log-line").count()) === 1, { what: "only that line is drawn" });
    expect(await page.locator(".log-line").allTextContents()).toEqual([expect.stringContaining("Payment refused")]);
    await search.fill("[31m");
    await page.getByText("No line contains “[31m”.").waitFor();
    await search.fill("");
    await page.getByRole("log").getByText("Payment").waitFor();
    await close();
  });

  it("shows the times of lines unless they are turned off", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 3);
    await lineOf(page, 3).waitFor();
    const time = page.locator(".log-time").last();
    expect(await time.textContent()).toMatch(/^\d\d:\d\d:02$/);
    expect(await time.getAttribute("title")).toMatch(/2026/);
    await page.getByLabel("Times").uncheck({ force: true });
    await until(async () => (await page.locator(".log-time").count()) === 0);
    await lineOf(page, 3).waitFor();
    await close();
  });

  it("makes classes of colours, and text of everything else", async () => {
    const { page, close } = await show("log-viewer");
    const written = [
      ["\u001b[1;31mbad\u001b[0m good", "bad good"],
      ["<script>window.hacked=1</script>", "<script>window.hacked=1</script>"],
      ["<img src=x onerror=window.hacked=1>", "<img src=x onerror=window.hacked=1>"],
      ['\u001b[31" onclick=window.hacked=1 "m', '[31" onclick=window.hacked=1 "m'],
      ["\u001b]8;;javascript:window.hacked=1\u0007link\u001b]8;;\u0007", "]8;;javascript:window.hacked=1link]8;;"],
      ["\u001b[2J\u001b[Hnull\0bell\u0007back\b", "nullbellback"],
      ["\u202Egnp.exe", "\u202Egnp.exe"],
    ] as const;
    await write(page, ...written.map(([text]) => text));
    await page.getByText("gnp.exe").waitFor();
    expect(await page.locator(".log-line").allTextContents()).toEqual(written.map(([, shown]) => shown));
    expect(await page.locator(".sgr1.sgr31").allTextContents()).toEqual(["bad"]);
    const added = "[...document.querySelectorAll('[role=log] *')]";
    expect(await page.evaluate(`[...new Set(${added}.map(({ tagName }) => tagName))].sort()`)).toEqual(["DIV", "SPAN"]);
    const attributes = `[...new Set(${added}.flatMap((one) => one.getAttributeNames()))].sort()`;
    expect(await page.evaluate(attributes)).toEqual(["class", "data-index", "style"]);
    expect(await page.evaluate("'hacked' in window")).toBe(false);
    await close();
  });

  it("scrolls 100,000 lines, of which only the visible ones are in the page", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 100_000);
    await lineOf(page, 100_000).waitFor();
    expect(await page.locator(".log-line").count()).toBeLessThan(ROWS_MAX);
    for (const [part, line] of [
      [0.5, 50_000],
      [0, 1],
    ] as const) {
      await page.evaluate(`(() => {
        const log = document.querySelector("[role=log]");
        log.scrollTop = ${part} * log.scrollHeight;
      })()`);
      await lineOf(page, line).waitFor();
      expect(await page.locator(".log-line").count()).toBeLessThan(ROWS_MAX);
    }
    await close();
  });

  it("downloads the whole log as plain text with its times, whatever is searched", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 2);
    await write(page, "\u001b[31mno time\u001b[0m\u0007");
    await page.getByLabel("Search the log").fill("line 2");
    await onlyMatching(page).check({ force: true });
    await statusOf(page, "1 hit, 1 of 3 lines").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("api-log.log");
    expect(await readFile(await download.path(), "utf8")).toBe(
      "2026-01-01T12:00:00.000Z line 1\n2026-01-01T12:00:01.000Z line 2\nno time\n",
    );
    await close();
  });

  it("has nothing that axe objects to, and is scrolled by the keyboard", async () => {
    const { page, close } = await show("log-viewer");
    await print(page, 500);
    await write(page, "\u001b[31mred\u001b[0m \u001b[42mon green\u001b[0m");
    await page.getByText("on green").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByLabel("Search the log").fill("on");
    await page.getByLabel("Search the log").press("Enter");
    await page.locator("mark.log-hit-current").waitFor();
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.locator(`html[data-mantine-color-scheme=${scheme}]`).waitFor();
      expect([scheme, await accessibilityProblems(page)]).toEqual([scheme, []]);
    }
    await page.getByLabel("Search the log").press("Tab");
    await page.getByRole("button", { name: "Previous hit" }).and(page.locator(":focus")).waitFor();
    await page.getByLabel("Search the log").fill("");
    await page.getByRole("button", { name: "Download" }).press("Tab");
    await page.locator("[role=log]:focus").waitFor();
    await page.keyboard.press("Home");
    await lineOf(page, 1).waitFor();
    await close();
  });
});

const print = (page: Page, count: number) => page.evaluate(`component.log.print(${count})`);

const write = (page: Page, ...texts: readonly string[]) =>
  page.evaluate(`component.log.write(...${JSON.stringify(texts.map((text) => ({ text })))})`);

const statusOf = (page: Page, text: string) => page.getByRole("status").getByText(text, { exact: true });
const onlyMatching = (page: Page) => page.getByLabel("Only matching lines");

/** Waits until this hit is marked and seen. */
async function atHit(page: Page, number: number, count: number, line: number): Promise<void> {
  await statusOf(page, `${number} of ${count}`).waitFor();
  const current = page.locator(".log-line", { has: page.locator("mark.log-hit-current") });
  await until(async () => (await current.getAttribute("data-index")) === String(line - 1), { what: `line ${line}` });
  await until(() => isSeen(page));
}

/** Whether the current hit is inside of the log's window. */
const isSeen = (page: Page) =>
  page.evaluate<boolean>(`(() => {
    const log = document.querySelector("[role=log]").getBoundingClientRect();
    const mark = document.querySelector("mark.log-hit-current")?.getBoundingClientRect();
    return mark !== undefined && mark.top >= log.top && mark.bottom <= log.bottom && mark.left >= log.left && mark.right <= log.right;
  })()`);

const lineOf = (page: Page, number: number) => page.getByRole("log").getByText(`line ${number}`, { exact: true });
const scrollTopOf = (page: Page) => page.evaluate<number>("document.querySelector('[role=log]').scrollTop");
/** Of all lines together, in pixels. */
const heightOf = (page: Page) => page.evaluate<number>("document.querySelector('.log-rows').offsetHeight");

/** Where the log is scrolled to once it no longer moves: keys scroll it smoothly. */
const restingPlace = (page: Page) =>
  until(async () => {
    const before = await scrollTopOf(page);
    await drawn(page);
    return before === (await scrollTopOf(page)) && before;
  });

/** Waits until the page has shown what was printed. */
const drawn = (page: Page) =>
  page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))");
