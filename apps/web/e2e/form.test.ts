import { until } from "@berth/testing";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { accessibilityProblems } from "./browser.fixture.ts";
import { describeComponents } from "./components.fixture.ts";

describeComponents("the form of a schema", (show) => {
  it("shows of each field whether it is required, its help and its kind of input", async () => {
    const { page, close } = await show("create-form");
    const name = page.getByRole("textbox", { name: "Name" });
    await name.waitFor();
    expect(await name.getAttribute("required")).not.toBeNull();
    expect(await described(page, "Name")).toEqual(["Shown in lists. At most 10 characters."]);
    expect(await page.getByRole("textbox", { name: "Port" }).getAttribute("required")).toBeNull();
    expect(await described(page, "Port")).toEqual(["From 1 to 65535."]);
    expect(await page.getByLabel("Password", { exact: true }).getAttribute("type")).toBe("password");
    expect(await page.getByRole("switch", { name: "Public" }).isChecked()).toBe(false);
    await page.getByRole("combobox", { name: "Size" }).click();
    expect(await page.getByRole("option").allTextContents()).toEqual(["small", "large"]);
    await page.keyboard.press("Escape");
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });

  it("refuses before it sends, says at each field why, and puts the focus on the first", async () => {
    const { page, close } = await show("create-form");
    const create = page.getByRole("button", { name: "Create shop" });
    await create.click();
    await page.getByText("This field is required.").waitFor();
    expect(await page.getByRole("textbox", { name: "Name" }).getAttribute("aria-invalid")).toBe("true");
    await page.getByRole("textbox", { name: "Name" }).and(page.locator(":focus")).waitFor();
    await page.getByRole("textbox", { name: "Name" }).fill("a name that is too long");
    await page.getByRole("textbox", { name: "Port" }).fill("70000");
    await page.getByLabel("Password", { exact: true }).fill("short");
    await create.click();
    await page.getByText("At least 8 characters.").waitFor();
    expect(await problems(page)).toEqual(["At most 10 characters.", "From 1 to 65535.", "At least 8 characters."]);
    expect(await described(page, "Port")).toEqual(["From 1 to 65535.", "From 1 to 65535."]);
    await page.getByRole("textbox", { name: "Name" }).and(page.locator(":focus")).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await sent(page)).toEqual([]);
    await close();
  });

  it("sends of a new object what was entered and what is fixed, and of a stored one only what was changed", async () => {
    const created = await show("create-form");
    await created.page.getByRole("textbox", { name: "Name" }).fill("shop");
    await created.page.keyboard.press("Enter");
    await until(async () => (await sent(created.page)).length === 1);
    expect(await sent(created.page)).toEqual([{ name: "shop", note: "Fixed" }]);
    await created.close();

    const { page, close } = await show("change-form");
    const save = page.getByRole("button", { name: "Save shop" });
    await save.waitFor();
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "Port" }).fill("9090");
    await page.locator(".changed").getByLabel("Port").waitFor();
    await page.getByRole("textbox", { name: "Port" }).fill("8080");
    expect(await save.isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "Port" }).fill("9090");
    await page.getByRole("textbox", { name: "Note" }).fill("");
    await page.getByRole("switch", { name: "Public" }).check({ force: true });
    await save.click();
    await page.getByText("Saved.").waitFor();
    expect(await sent(page)).toEqual([{ port: 9090, is_public: true, note: null }]);
    await close();
  });

  it("takes back what was entered by Discard, without sending", async () => {
    const { page, close } = await show("change-form");
    const name = page.getByRole("textbox", { name: "Name" });
    await name.fill("store");
    await page.getByRole("button", { name: "Discard" }).click();
    expect(await name.inputValue()).toBe("shop");
    expect(await page.getByRole("button", { name: "Save shop" }).isDisabled()).toBe(true);
    expect(await sent(page)).toEqual([]);
    await close();
  });

  it("keeps what was entered when the API refuses, and shows its words at the fields, once", async () => {
    const { page, close } = await show("change-form");
    await refuse(page, { name: ["Taken by another shop."], port: ["Port 9090 is in use.", "Choose another."] });
    await page.getByRole("textbox", { name: "Name" }).fill("store");
    await page.getByRole("textbox", { name: "Port" }).fill("9090");
    await page.getByLabel("Password", { exact: true }).fill("a new secret");
    const save = page.getByRole("button", { name: "Save shop" });
    await save.click();
    await page.getByText("Taken by another shop.").waitFor();
    expect(await problems(page)).toEqual(["Taken by another shop.", "Port 9090 is in use. Choose another."]);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("store");
    expect(await page.getByRole("textbox", { name: "Port" }).inputValue()).toBe("9090");

    await refuse(page, { name: ["Taken by another shop."], place: ["No such place."] });
    await save.click();
    await page.getByRole("alert").getByText("place: No such place.", { exact: false }).waitFor();
    expect(await problems(page)).toEqual(["Taken by another shop."]);
    await save.click();
    await page.getByText("Saved.").waitFor();
    expect(await problems(page)).toEqual([]);
    const change = { name: "store", port: 9090, password: "a new secret" };
    expect(await sent(page)).toEqual([change, change, change]);
    await close();
  });

  it("never shows a stored secret, nor an entered one once it was sent, and keeps it unless another is entered", async () => {
    const { page, close } = await show("change-form");
    const password = page.getByLabel("Password", { exact: true });
    await password.waitFor();
    expect(await password.inputValue()).toBe("");
    expect(await password.getAttribute("placeholder")).toBe("Stored. Enter another to replace it.");
    expect(await password.getAttribute("autocomplete")).toBe("new-password");
    await page.getByRole("textbox", { name: "Name" }).fill("store");
    await page.getByRole("button", { name: "Save shop" }).click();
    await until(async () => (await sent(page)).length === 1);
    await password.fill("a new secret");
    expect(await page.locator("body").textContent()).not.toContain("a new secret");
    await page.getByRole("button", { name: "Save shop" }).click();
    await until(async () => (await sent(page)).length === 2);
    await until(async () => (await password.inputValue()) === "");
    expect(await page.content()).not.toContain("a new secret");
    expect(await sent(page)).toEqual([{ name: "store" }, { password: "a new secret" }]);
    await close();
  });

  it("says to who may only read why it sends nothing", async () => {
    const { page, close } = await show("create-form", { abilities: ["read"] });
    await page.getByRole("textbox", { name: "Name" }).fill("shop");
    const create = page.getByRole("button", { name: "Create shop" });
    await page.locator("[aria-disabled=true]").waitFor();
    await create.focus();
    await page.getByText("Your role in Shop is member, which may only read.").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Name" }).press("Enter");
    expect(await sent(page)).toEqual([]);
    await close();
  });

  it("asks before its page is left with unsaved changes", async () => {
    const { page, close } = await show("change-form");
    await page.getByRole("textbox", { name: "Name" }).fill("store");
    await page.getByRole("button", { name: "Discard" }).waitFor();
    const [dialog] = await Promise.all([
      page.waitForEvent("dialog"),
      page.evaluate("void setTimeout(() => location.reload())"),
    ]);
    expect(dialog.type()).toBe("beforeunload");
    await dialog.dismiss();
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("store");
    await close();
  });
});

const sent = (page: Page) => page.evaluate<readonly unknown[]>("component.forms.sent");

/** The API refuses the next request. */
const refuse = (page: Page, errors: Readonly<Record<string, readonly string[]>>) =>
  page.evaluate(`component.forms.refuse(${JSON.stringify(errors)})`);

/** What is said at fields, in their order. */
const problems = (page: Page) => page.locator(".mantine-InputWrapper-error").allTextContents();

/** Description and problem of a field, as they are read to its user. */
const described = (page: Page, label: string) =>
  page
    .getByLabel(label)
    .first()
    .evaluate((input) =>
      (input.getAttribute("aria-describedby") ?? "")
        .split(" ")
        .map((id: string) => input.ownerDocument.getElementById(id)?.textContent ?? "")
        .filter((text: string) => text !== ""),
    );
