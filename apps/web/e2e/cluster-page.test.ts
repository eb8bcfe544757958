import { describeDocker, hasChromium, SERVER_IMAGE, type ServerContainer } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { twoMachines } from "../../server/e2e/cluster.fixture.ts";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import { openBrowser, visitSignedIn } from "./browser.fixture.ts";
import { problemsOfPages } from "./looks.fixture.ts";
import { byAddress } from "./navigation.fixture.ts";

describeDocker("a cluster in the dashboard", [SERVER_IMAGE, "caddy:2", "busybox:stable"], (docker) => {
  let server: TestServer;
  let browser: Browser;
  let machines: readonly [ServerContainer, ServerContainer];
  let uuids: readonly [string, string];

  beforeAll(async () => {
    ({ server, machines, uuids } = await twoMachines(docker));
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.skipIf(!hasChromium)("is made of servers, changed and left, without another tool", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const tab = `/servers/${uuids[0]}/nodes`;
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });

    expect(await problemsOfPages(page, { "cluster-none": tab }, byAddress)).toEqual({});
    await page.getByRole("textbox", { name: "Address pool" }).fill("10.203.0.0/99");
    await page.getByRole("button", { name: "Make a cluster" }).click();
    await page.getByText("Must be an IPv4 range").waitFor();
    await page.getByRole("textbox", { name: "Address pool" }).fill("10.203.0.0/16");
    await page.getByRole("button", { name: "Make a cluster" }).click();
    await row("node-1").getByText("leader").waitFor();
    const pool = await machines[0].exec(["docker", "info", "--format", "{{.Swarm.Cluster.DefaultAddrPool}}"]);
    expect(pool.output).toContain("10.203.0.0/16");

    await page.getByText("The first worker takes all applications").waitFor();
    await page.getByRole("combobox", { name: "Server" }).click();
    expect(await page.getByRole("option").allTextContents()).toEqual(["node-2"]);
    await page.getByRole("option", { name: "node-2" }).click();
    await page.getByRole("button", { name: "Add to the cluster" }).click();
    await row("node-2").getByText("worker").waitFor();
    await page.getByText("No server to add").waitFor();

    await labelled(page, "node-2", "zone", "zone must have the form NAME=VALUE.");
    await labelled(page, "node-2", "zone=a\ndisk=ssd");
    await row("node-2").getByText("disk=ssd, zone=a").waitFor();
    expect(await problemsOfPages(page, { "cluster-nodes": tab }, byAddress)).toEqual({});
    await labelled(page, "node-2", "zone=b");
    await row("node-2").getByText("zone=b", { exact: true }).waitFor();

    const token = async () => (await machines[0].exec(["docker", "swarm", "join-token", "-q", "worker"])).output;
    const before = await token();
    await pressed(page, "New tokens");
    await page.getByText(/^The tokens to join the cluster of node-1 are new/).waitFor();
    expect(await token()).not.toBe(before);

    // What another person does is shown too.
    const nodes = await server.client.clusterNodes.list.query({ uuid: uuids[0] });
    const { id: node_id = "" } = nodes.find(({ server_name }) => server_name === "node-2") ?? {};
    await server.client.clusterNodes.update.mutate({ uuid: uuids[0], node_id, availability: "drain" });
    await row("node-2").getByText("Drained").waitFor();
    await page.getByRole("button", { name: "Activate node-2" }).click();
    await row("node-2").getByText("Ready").waitFor();

    await page.goto(`/servers/${uuids[1]}/nodes`);
    await page.getByRole("link", { name: "the cluster of node-1" }).click();
    await pressed(page, "Let node-2 leave the cluster", "Leave");
    await row("node-2").waitFor({ state: "detached" });
    await pressed(page, "End the cluster");
    await page.getByRole("button", { name: "Make a cluster" }).waitFor();
    expect(complaints.filter((said) => !said.includes("422"))).toEqual([]);
    await close();
  });
});

/** Presses a button that asks first. */
async function pressed(page: Page, name: string, answer = name): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: answer, exact: true }).click();
}

async function labelled(page: Page, node: string, lines: string, problem?: string): Promise<void> {
  await page.getByRole("button", { name: `Labels of ${node}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Labels" }).fill(lines);
  await dialog.getByRole("button", { name: "Save labels" }).click();
  if (problem === undefined) return await dialog.waitFor({ state: "detached" });
  await dialog.getByText(problem).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}
