import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasChromium, until } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { openBrowser, picture, signIn, visit } from "./browser.fixture.ts";

const SOURCE = `
const { createServer } = require("node:http");
console.log("\\u001b[32mready\\u001b[0m to say " + process.env.GREETING);
createServer((_request, response) => response.end(process.env.GREETING ?? "nothing")).listen(process.env.PORT);
`;

describe.skipIf(!hasChromium)("a person without a word of REST", () => {
  let server: TestServer;
  let browser: Browser;
  let folder: string;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
    folder = join(mkdtempSync(join(tmpdir(), "berth-way-")), "greeter");
    mkdirSync(join(folder, "node_modules/large"), { recursive: true });
    writeFileSync(join(folder, "node_modules/large/index.js"), "never uploaded");
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name: "greeter", scripts: { start: "node server.js" } }),
    );
    writeFileSync(join(folder, "server.js"), SOURCE);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    if (folder !== undefined) rmSync(join(folder, ".."), { recursive: true, force: true });
  });

  it("deploys a folder, changes a variable, deploys again, and deploys a new version", async () => {
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server);
    await page.getByRole("link", { name: "Deploy something" }).click();
    await page.getByRole("button", { name: /A folder/ }).click();
    await page.locator("input[type=file]").setInputFiles(folder);
    await page.getByText("2 files").waitFor();
    await page.getByRole("button", { name: "Deploy", exact: true }).click();

    await page.getByRole("heading", { name: /Deployment of/ }).waitFor();
    await page.getByText("Deployment finished", { exact: false }).waitFor();
    await picture(page, "way-deployed");
    const url = new URL((await page.getByRole("link", { name: /^http/ }).getAttribute("href")) ?? "");
    await until(async () => (await bodyOf(server, url)) === "nothing");

    await page.getByRole("link", { name: "greeter", exact: true }).click();
    await page.getByRole("tab", { name: "Variables" }).click();
    await page.getByRole("button", { name: "New variable" }).click();
    await page.getByRole("textbox", { name: "Key" }).fill("GREETING");
    await page.getByRole("textbox", { name: "Value" }).fill("good morning");
    await page.getByRole("button", { name: "Add variable" }).click();
    await page.getByRole("button", { name: "GREETING", exact: true }).waitFor();
    await deployNow(page);
    await until(async () => (await bodyOf(server, url)) === "good morning");

    await page.getByRole("link", { name: "greeter", exact: true }).click();
    await page.getByRole("tab", { name: "Logs" }).click();
    const line = page.getByText("to say good morning");
    await line.waitFor();
    expect(await page.locator(".sgr32").first().textContent()).toBe("ready");
    await picture(page, "way-log");

    await page.getByRole("tab", { name: "Variables" }).click();
    await page.getByRole("button", { name: "Edit as text" }).click();
    await page.getByLabel("One KEY=value a line").fill("GREETING=good evening");
    await page.getByRole("button", { name: "Save variables" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    writeFileSync(join(folder, "server.js"), `${SOURCE}// Another version.`);
    await page.getByRole("tab", { name: "Deployments" }).click();
    await page.locator("input[type=file]").setInputFiles(folder);
    await page.getByText("2 files").waitFor();
    await page.getByRole("button", { name: "Deploy this folder" }).click();
    await page.getByRole("heading", { name: /Deployment of/ }).waitFor();
    await page.getByText("Deployment finished", { exact: false }).waitFor();
    await until(async () => (await bodyOf(server, url)) === "good evening");
    await picture(page, "way-new-version");

    // A second one of the name is not made without a word.
    await page.goto("/new/folder");
    await page.locator("input[type=file]").setInputFiles(folder);
    await page.getByText("2 files").waitFor();
    await page.getByRole("button", { name: "Deploy", exact: true }).click();
    await page.getByText("An application greeter exists in production already").waitFor();
    await picture(page, "way-taken-name");
    expect(await server.client.applications.list.query({})).toHaveLength(1);
    await page.getByRole("button", { name: "Deploy to greeter" }).click();
    await page.getByRole("heading", { name: /Deployment of greeter/ }).waitFor();
    await page.getByText("Deployment finished", { exact: false }).waitFor();
    expect(await server.client.applications.list.query({})).toHaveLength(1);

    await page.getByRole("link", { name: "greeter", exact: true }).click();
    await page.getByRole("tab", { name: "Deployments" }).click();
    await page.getByRole("button", { name: "Roll back to this" }).first().click();
    await page.getByRole("heading", { name: /Deployment of/ }).waitFor();
    await page.getByText("Deployment finished", { exact: false }).waitFor();
    await page.getByText("Rolls back to what deployment", { exact: false }).waitFor();

    await page.getByRole("link", { name: "greeter", exact: true }).click();
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Delete with its data" }).click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete with its data" });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel("Type its name to confirm").fill("greeter");
    await confirm.click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await until(async () => (await server.client.applications.list.query({})).length === 0);

    await page.goto("/team/members");
    await page.getByRole("button", { name: "Add a member" }).click();
    await page.getByRole("textbox", { name: "Email" }).fill("new@example.com");
    await page.getByRole("textbox", { name: "Name" }).fill("New");
    await page.getByRole("dialog").getByRole("button", { name: "Add a member" }).click();
    await page.getByRole("row", { name: /new@example\.com/ }).waitFor();
    await page.getByRole("banner").getByRole("button").last().click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: /Sign in/ }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

async function deployNow(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Deploy now" }).click();
  await page.getByRole("heading", { name: /Deployment of/ }).waitFor();
  await page.getByText("Deployment finished", { exact: false }).waitFor();
}

/** Body of the page through the proxy, by the application's host name; `undefined` while it does not answer. */
const bodyOf = ({ proxyPort }: TestServer, { hostname }: URL): Promise<string | undefined> =>
  new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port: proxyPort, headers: { host: hostname } }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve(response.statusCode === 200 ? body : undefined));
    });
    asked.on("error", () => resolve(undefined));
    asked.end();
  });
