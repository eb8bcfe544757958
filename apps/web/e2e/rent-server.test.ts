import { type HetznerServer, hasChromium, sshKeyPair, startHetzner } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { accessibilityProblems, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describe("a server that is rented at a cloud", () => {
  let hetzner: HetznerServer;
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    hetzner = await startHetzner({ token: "t0ken" });
    server = await testServer({
      env: { BERTH_HETZNER_URL: hetzner.url, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" },
    });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await hetzner?.close();
  });

  it.skipIf(!hasChromium)("is chosen from what the provider offers, with one token and one key", async () => {
    await server.client.privateKeys.create.mutate({ name: "laptop", private_key: sshKeyPair().privateKey });
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const choose = async (name: string, option: string | RegExp) => {
      await page.getByRole("combobox", { name }).click();
      await page.getByRole("option", { name: option }).click();
    };

    await page.goto("/servers");
    await page.getByRole("button", { name: "Rent a server" }).click();
    await page
      .getByRole("dialog")
      .getByRole("link", { name: /Cloud tokens/ })
      .click();
    await page.getByRole("button", { name: "Add a cloud token" }).click();
    await choose("Provider", "hetzner");
    await page.getByRole("textbox", { name: "Name" }).fill("Shop");
    await page.locator("input[type=password]").fill("wrong");
    const add = page.getByRole("dialog").getByRole("button", { name: "Add a cloud token" });
    await add.click();
    await page.getByText("Hetzner does not accept this token").first().waitFor();
    await page.locator("input[type=password]").fill("t0ken");
    await add.click();
    await page.getByRole("button", { name: "Check Shop" }).click();
    await page.getByText("valid").first().waitFor();

    await page.goto("/servers");
    await page.getByRole("button", { name: "Rent a server" }).click();
    const form = page.getByRole("dialog");
    await choose("Private key", "laptop");
    await choose("Location", /Falkenstein/);
    await choose("Server type", /^cx22: 2 cores, 4 GB, disk 40 GB, 3\.\d\d a month$/);
    await page.getByRole("combobox", { name: "Image" }).click();
    const images = await page.getByRole("option").allTextContents();
    expect(images.length).toBeGreaterThan(0);
    await page.getByRole("option").first().click();
    await form.getByRole("textbox", { name: "Name" }).fill("web-1");
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "rent-server");
    await form.getByRole("button", { name: "Rent it" }).click();
    await page.getByRole("heading", { name: "web-1" }).waitFor();
    expect(hetzner.machines.map(({ name }) => name)).toEqual(["web-1"]);
    const { wanted } = hetzner.machines[0] ?? { wanted: {} };
    expect(wanted).toMatchObject({ location: "fsn1", server_type: "cx22", image: expect.any(Number) });
    const [made] = (await server.client.servers.list.query({})).filter(({ name }) => name === "web-1");
    expect(made).toMatchObject({ name: "web-1" });
    expect(complaints.filter((said) => !said.includes("400"))).toEqual([]);
    await close();
  });
});
