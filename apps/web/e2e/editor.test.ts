import { until } from "@berth/testing";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { accessibilityProblems } from "./browser.fixture.ts";
import { describeComponents } from "./components.fixture.ts";

const TEXT = "services:\n  web:\n    image: nginx\n";

describeComponents("the editor", (show) => {
  it("reports every change of its text, also when it is undone", async () => {
    const { page, close } = await show("editor");
    const editor = page.getByRole("textbox", { name: "Compose file" });
    await editor.press("Control+End");
    await page.keyboard.type("x: 1");
    await until(async () => (await reported(page)) === `${TEXT}x: 1`);
    expect(await editor.textContent()).toContain("image: nginx");
    await page.keyboard.press("Control+z");
    await until(async () => (await reported(page)) === TEXT);
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await until(async () => (await reported(page)) === "");
    await close();
  });

  it("keeps the indentation of YAML, and indents by Tab and back by Shift Tab", async () => {
    const { page, close } = await show("editor");
    await page.getByRole("textbox", { name: "Compose file" }).press("Control+End");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("ports: []");
    await until(async () => (await reported(page)) === `${TEXT}    ports: []\n`);
    await page.keyboard.press("Tab");
    await until(async () => (await reported(page)) === `${TEXT}      ports: []\n`);
    await page.keyboard.press("Shift+Tab");
    await until(async () => (await reported(page)) === `${TEXT}    ports: []\n`);
    await close();
  });

  it("is left by the keyboard: Escape and then Tab, in both directions", async () => {
    const { page, close } = await show("editor");
    const before = page.getByRole("button", { name: "Before" });
    const editor = page.getByRole("textbox", { name: "Compose file" });
    await before.focus();
    const entered = editor.and(page.locator(":focus"));
    // Past the area that is scrolled, into the text.
    await until(async () => {
      await page.keyboard.press("Tab");
      return await entered.isVisible();
    });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "After" }).and(page.locator(":focus")).waitFor();
    await editor.focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+Tab");
    expect(await entered.isVisible()).toBe(false);
    expect(await reported(page)).toBeUndefined();
    await close();
  });

  it("searches in its text by a panel that Escape closes", async () => {
    const { page, close } = await show("editor");
    const editor = page.getByRole("textbox", { name: "Compose file" });
    await editor.press("Control+f");
    await page.getByRole("textbox", { name: "Find" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("nginx");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "Find" }).waitFor({ state: "detached" });
    await editor.and(page.locator(":focus")).waitFor();
    // What was found is selected.
    await page.keyboard.type("caddy");
    await until(async () => (await reported(page)) === TEXT.replace("nginx", "caddy"));
    await close();
  });

  it("keeps what is pasted as text, and draws of a long one only what is visible", async () => {
    const { page, close } = await show("editor");
    await page.getByRole("textbox", { name: "Compose file" }).press("Control+a");
    const hostile = `<img src=x onerror="window.hacked=1">`;
    const long = Array.from({ length: 20_000 }, (_, index) => `key${index}: ${hostile}`).join("\n");
    await paste(page, long);
    await until(async () => (await reported(page)) === long);
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator(".cm-line").count()).toBeLessThan(200);
    expect(await page.locator(".cm-content img").count()).toBe(0);
    expect(await page.evaluate("'hacked' in window")).toBe(false);
    await close();
  });

  it("has nothing that axe objects to", async () => {
    const { page, close } = await show("editor");
    await page.getByRole("textbox", { name: "Compose file" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });
});

/** The text that the editor reported last. */
const reported = (page: Page) => page.evaluate<string | undefined>("component.texts.at(-1)");

/** A paste as the browser reports one, without this machine's clipboard. */
const paste = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  })()`);
