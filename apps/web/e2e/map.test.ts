import { hasChromium, until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { NARROW, openBrowser, visitSignedIn, WIDE } from "./browser.fixture.ts";
import { problemsOfPages } from "./looks.fixture.ts";
import { byAddress } from "./navigation.fixture.ts";
import { refer, type Shop, shopOf } from "./shop.fixture.ts";

describe.skipIf(!hasChromium)("the map of an environment", () => {
  let server: TestServer;
  let browser: Browser;
  let shop: Shop;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
    shop = await shopOf(server);
    await refer(server, shop.api, "DATABASE_URL", "shopdb");
    await refer(server, shop.api, "REPLICA_URL", "shopdb");
    await refer(server, shop.worker, "CACHE_URL", "cache");
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it("shows what uses what on which server, in words too, and opens what is chosen with the keyboard", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    expect(await problemsOfPages(page, { map: `/projects/${shop.project}?view=map` }, byAddress)).toEqual({});
    await page.setViewportSize({ width: WIDE, height: 900 });
    const map = page.getByRole("list", { name: "Map of production" });
    await map.getByText("uses shopdb by DATABASE_URL, REPLICA_URL").waitFor({ state: "attached" });
    await map.getByText("uses cache by CACHE_URL").first().waitFor({ state: "attached" });
    // From the URLs to both applications, and from each of them to a database.
    expect(await page.locator(".map-arrow").count()).toBe(4);
    expect(await page.locator(".map-frame").count()).toBe(2);
    await page.locator(".map-frame").getByText("Out of reach").or(page.getByText("Not usable")).first().waitFor();

    // What another client attaches appears by itself.
    await refer(server, shop.api, "CACHE_URL", "cache");
    await map.getByText("uses cache by").nth(1).waitFor({ state: "attached" });
    expect(await page.locator(".map-arrow").count()).toBe(5);

    await page.setViewportSize({ width: NARROW, height: 900 });
    await map.getByRole("link", { name: "shopdb" }).focus();
    expect(await page.locator(".map-arrow-chosen").count()).toBe(1);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "shopdb" }).waitFor();
    await page.goBack();
    await map.getByRole("link", { name: "shopdb" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("leaves a database for it without a request for an application, while its script is loaded", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/databases/${shop.shopdb}`);
    await page.getByRole("heading", { name: "shopdb" }).waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route(/project-page/, async (route) => {
      await released;
      await route.continue();
    });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("link", { name: "Shop" }).click();
    await page.waitForURL("**/projects/*");
    // What the page before asks for meanwhile has the next address, too.
    await refer(server, shop.worker, "REPLICA_URL", "shopdb");
    await until(() => asked.some((url) => /(applications|databases)\.get|resources\.summaries/.test(url)));
    release();
    await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
    expect(asked.filter((url) => url.includes("applications.get"))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
