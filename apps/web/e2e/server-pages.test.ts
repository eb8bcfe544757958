import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { hasChromium, openBrowser, problemsOfPages, signIn, visit } from "./browser.fixture.ts";

describe.skipIf(!hasChromium)("the pages of servers and for what is new", () => {
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
    await signIn(page, server);
    expect(await problemsOfPages(page, await pathsOf(server))).toEqual({});
    expect(complaints).toEqual([]);
    await close();
  }, 240_000);
});

async function pathsOf({ client }: TestServer) {
  const [server] = await client.servers.list.query({});
  const machine = `/servers/${server?.uuid}`;
  const tabs = (of: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, `${of}/${name}`]));
  return {
    new: "/new",
    ...tabs("/new", ["folder", "git", "template", "database", "image", "compose"]),
    server: machine,
    ...tabs(machine, ["proxy", "cleanup", "jobs"]),
    "server-settings": `${machine}/settings`,
  };
}
