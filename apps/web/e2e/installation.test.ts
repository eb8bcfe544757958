import { describeDocker, hasChromium, SERVER_IMAGE, type ServerContainer, startServerContainer } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { accessibilityProblems, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describeDocker("an installation of Docker in the dashboard", [SERVER_IMAGE], (docker) => {
  let server: TestServer;
  let machine: ServerContainer;
  let browser: Browser;
  let uuid: string;
  beforeAll(async () => {
    [server, machine, browser] = await Promise.all([
      testServer(),
      startServerContainer(docker, { hasDocker: false }),
      openBrowser(),
    ]);
    const { client } = server;
    const { privateKey } = machine.keys;
    const { uuid: private_key_uuid } = await client.privateKeys.create.mutate({ private_key: privateKey });
    ({ uuid } = await client.servers.create.mutate({ name: "bare", ip: machine.address, private_key_uuid }));
    // Docker's start script of Debian raises its limits, which a container may not do.
    const script = [
      "apt-get remove --yes docker.io docker-cli containerd runc >/dev/null 2>&1",
      "sed -i 's/^[ \\t]*ulimit/: ulimit/' /etc/init.d/docker",
      "command -v dockerd",
    ].join("; ");
    expect((await machine.exec(["sh", "-c", script])).output).toBe("");
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.skipIf(!hasChromium)("shows its steps and what it prints while it runs, and then what was checked", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/servers/${uuid}`);
    const check = (text: string | RegExp) => page.getByRole("list", { name: "Checks" }).getByText(text);
    await page.getByRole("button", { name: "Install Docker" }).click();
    await check("Package lists").waitFor();
    await check(/apt-get .* install .*docker\.io/).waitFor();
    const output = page.getByRole("log", { name: "Output" });
    // Lines of the running installation, before its end.
    await output.getByText(/(Unpacking|Preparing to unpack|Selecting|Setting up|Get:|Fetched|Reading)/).waitFor();
    expect(await check("Checking …").count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "server-installation");
    await check(/Docker .* answers/).waitFor({ timeout: 120_000 });
    for (const step of ["Package lists", "Packages", "Start", "Machine", "Engine"]) {
      await page.getByRole("list", { name: "Checks" }).getByText(step, { exact: true }).waitFor();
    }
    await output.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Install Docker" }).waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await close();
  });
});
