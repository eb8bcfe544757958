import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { describeLargeInBrowser, openBrowser, signIn, visit } from "./browser.fixture.ts";
import { problemsOfPages } from "./looks.fixture.ts";
import { byAddress, byLink } from "./navigation.fixture.ts";

/**
 * A suite with a server and a browser that shows pages in every look.
 * @param signedOut Pages that are shown before anybody signs in.
 */
export function describePages(
  title: string,
  server: Parameters<typeof testServer>[0],
  paths: (server: TestServer) => Promise<Readonly<Record<string, string>>>,
  signedOut: Readonly<Record<string, string>> = {},
): void {
  describeLargeInBrowser(title, () => {
    let running: TestServer;
    let browser: Browser;
    beforeAll(async () => {
      running = await testServer(server);
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await running?.dispose();
    });

    it("show in light and dark, wide and narrow, nothing that axe, the policy or a narrow screen objects to", async () => {
      const { page, complaints, close } = await visit(browser, running.url);
      expect(await problemsOfPages(page, signedOut, byAddress)).toEqual({});
      await signIn(page, running);
      expect(await problemsOfPages(page, await paths(running), byLink)).toEqual({});
      expect(complaints).toEqual([]);
      await close();
    });
  });
}
