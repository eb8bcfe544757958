import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { hasChromium, openBrowser, problemsOfPages, signIn, visit } from "./browser.fixture.ts";

const PATHS = {
  members: "/team",
  ...Object.fromEntries(
    ["tokens", "keys", "registries", "storages", "activity"].map((name) => [name, `/team/${name}`]),
  ),
  "team-sign-in": "/team/sign-in",
  account: "/account",
  "shared-variables": "/team/variables",
};

describe.skipIf(!hasChromium)("the pages of the team and of its members", () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it("show in light and dark, wide and narrow, nothing that axe, the policy or a narrow screen objects to", async () => {
    const { page, complaints, close } = await visit(browser, server.url);
    expect(await problemsOfPages(page, { "sign-in": "/sign-in" })).toEqual({});
    await signIn(page, server);
    expect(await problemsOfPages(page, PATHS)).toEqual({});
    expect(complaints).toEqual([]);
    await close();
  }, 240_000);
});
