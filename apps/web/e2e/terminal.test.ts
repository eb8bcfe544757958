import { describeDocker, hasChromium, until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { dockerServer } from "../../server/e2e/docker.fixture.ts";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import { accessibilityProblems, NARROW, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describeDocker("a terminal in the page", ["redis:7.2"], (docker) => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: docker.name("terminals") } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.skipIf(!hasChromium)("is a shell in the container, which follows the size of the page", async () => {
    const { client } = server;
    const project = await client.projects.create.mutate({ name: "Shop" });
    const { uuid } = await client.databases.create.redis.mutate({
      ...{ project_uuid: project.uuid, environment_name: "production", image: "redis:7.2", instant_deploy: true },
    });
    await until(async () => (await client.databases.get.query({ uuid })).status.startsWith("running"), {
      seconds: 60,
    });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/databases/${uuid}/terminal`, {
      scheme: "dark",
    });
    await page.getByText("Open. It is recorded", { exact: false }).waitFor();
    const size = async () => {
      await page.keyboard.type("clear; stty size | sed 's/^/size /'\n");
      const shown = page.locator(".xterm-rows").getByText(/^size \d+ \d+/);
      await shown.waitFor();
      return (await shown.textContent())?.trim();
    };
    const wide = await size();
    await picture(page, "terminal-open");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.setViewportSize({ width: NARROW, height: 900 });
    await until(async () => (await size()) !== wide);
    await page.keyboard.type("exit\n");
    await page.getByText("The shell has ended.").waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
