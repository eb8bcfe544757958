import type { createClient } from "@berth/client";
import { until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { hasChromium, openBrowser, problemsOfPages, signIn, visit } from "./browser.fixture.ts";

describe.skipIf(!hasChromium)("the pages of what runs", () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await testServer({ env: { BERTH_EXAMPLE: "on" } });
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

async function pathsOf({ client }: { readonly client: ReturnType<typeof createClient> }) {
  const [application] = await until(async () => {
    const list = await client.applications.list.query({});
    return list[0]?.status.startsWith("running") ? list : undefined;
  });
  const [project] = await client.projects.list.query({});
  const { deployments } = await client.deployments.listByApplication.query({ uuid: application?.uuid ?? "" });
  const base = `/applications/${application?.uuid}`;
  const tabs = ["deployments", "logs", "terminal", "variables", "domains", "storage", "tasks", "metrics", "settings"];
  return {
    overview: "/",
    project: `/projects/${project?.uuid}`,
    application: base,
    ...Object.fromEntries(tabs.map((name) => [name, `${base}/${name}`])),
    deployment: `/deployments/${deployments[0]?.deployment_uuid}`,
    servers: "/servers",
  };
}
