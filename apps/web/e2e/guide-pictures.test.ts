import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { hasChromium } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApplication, temporaryRepository } from "../../server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { openBrowser, settled, signIn, visit, WIDE } from "./browser.fixture.ts";
import { refer } from "./shop.fixture.ts";

const DOCS = fileURLToPath(new URL("../../../docs/", import.meta.url));
const PICTURES = `${DOCS}pictures/`;
const BYTES_MAX = 600_000;

/** Prints what a shop would. */
const SOURCE = `
  console.log("\\u001b[32mready\\u001b[0m on port " + process.env.PORT);
  let order = 4180;
  setInterval(() => console.log("POST /orders 201 order=" + ++order + " " + (order % 7 + 3) + " ms"), 200);
  require("node:http").createServer((_request, response) => response.end("shop")).listen(process.env.PORT);
  process.on("SIGTERM", () => process.exit(0));
`;
const PACKAGE = JSON.stringify({ name: "shop", version: "1.0.0", scripts: { start: "node server.js" } });

describe("the pictures of the dashboard's guide", () => {
  const guide = readFileSync(`${DOCS}dashboard.md`, "utf8");
  const shown = [...guide.matchAll(/!\[([^\]]*)\]\(pictures\/([\w-]+\.png)\)/g)];
  const names = shown.map(([, , name = ""]) => name);

  it("exist, each with a text for who cannot see it, and no others do", () => {
    expect(names.length).toBeGreaterThan(0);
    expect(readdirSync(PICTURES).sort()).toEqual([...names].sort());
    expect(shown.filter(([, text = ""]) => text.length < 20)).toEqual([]);
  });

  it("are pictures of 1280 pixels, together small enough to be kept with the sources", () => {
    const widths = names.map((name) => [name, widthOf(`${PICTURES}${name}`)]);
    expect(widths).toEqual(names.map((name) => [name, WIDE]));
    expect(names.reduce((bytes, name) => bytes + statSync(`${PICTURES}${name}`).size, 0)).toBeLessThan(BYTES_MAX);
  });
});

/** In pixels. A PNG begins with its signature, the length and name of its head, and its width. */
function widthOf(path: string): number {
  const png = readFileSync(path);
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  return png.readUInt32BE(16);
}

// Only when asked for: normal runs change no file of the repository.
if (process.env.BERTH_PICTURES === "docs") {
  describe.skipIf(!hasChromium)("new pictures of the dashboard's guide", () => {
    const repository = temporaryRepository({ "package.json": PACKAGE, "server.js": SOURCE });
    let server: TestServer;
    let browser: Browser;
    beforeAll(async () => {
      server = await testServer();
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.dispose();
      repository.dispose();
    });

    it("are made of a shop", async () => {
      repository.commit({}, "Show the stock beside each article");
      const { page, complaints, close } = await visit(browser, server.url);
      await page.setViewportSize({ width: WIDE, height: HEIGHT });
      await signIn(page, server);
      await page.goto("/account");
      await page.getByRole("textbox", { name: "Name" }).first().fill("Ada");
      await page.getByRole("button", { name: "Save", exact: true }).first().click();
      await page.getByText("Saved.").waitFor();
      const { project, api } = await shopOf(server, repository, (uuid) => deployOn(page, uuid));
      const [newest] = (await server.client.deployments.listByApplication.query({ uuid: api })).deployments;
      mkdirSync(PICTURES, { recursive: true });
      // Each ends below what it is about.
      await pictureOf(page, "/", { name: "overview", height: 430 });
      await pictureOf(page, `/projects/${project}?view=map`, { name: "map", height: 345 });
      await pictureOf(page, `/applications/${api}`, { name: "application", height: 650 });
      await pictureOf(page, `/deployments/${newest?.deployment_uuid}`, { name: "deployment", height: 705 });
      await pictureOf(page, `/applications/${api}/logs`, { name: "logs", height: 685, shown: /order=42\d\d/ });
      expect(complaints).toEqual([]);
      await close();
    });
  });
}

const HEIGHT = 720;

interface Picture {
  readonly name: string;
  readonly height: number;
  /** What has to be there, besides the page itself. */
  readonly shown?: RegExp;
}

async function pictureOf(page: Page, path: string, { name, height, shown }: Picture): Promise<void> {
  await page.goto(path);
  await settled(page);
  await page.getByText("Live", { exact: true }).waitFor();
  if (shown !== undefined) await page.getByText(shown).first().waitFor();
  // The address of the test's own repository names a temporary folder.
  await page.evaluate(WITHOUT_FOLDERS);
  const clip = { x: 0, y: 0, width: WIDE, height };
  await page.screenshot({ path: `${PICTURES}${name}.png`, clip });
}

const WITHOUT_FOLDERS = `(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode: node } = texts;
    if (node.data.includes("file://")) node.data = node.data.replace(/file:\\S+/, "https://git.shop.example/api.git");
  }
})()`;

/** Deploys as a person does, who is named as the one who did it. */
async function deployOn(page: Page, uuid: string): Promise<void> {
  await page.goto(`/applications/${uuid}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.waitForURL(/\/deployments\//);
  await page.getByText("Deployment finished").first().waitFor();
}

/** Applications that run, and databases that they refer to. */
async function shopOf(
  server: TestServer,
  repository: ReturnType<typeof temporaryRepository>,
  deploy: (uuid: string) => Promise<void>,
) {
  const { client } = server;
  const [machine] = await client.servers.list.query({});
  // The first start makes a project, which is empty.
  const [first] = await client.projects.list.query({});
  const project = first?.uuid ?? "";
  await client.projects.update.mutate({ uuid: project, name: "Shop" });
  const where = { project_uuid: project, environment_name: "production", server_uuid: machine?.uuid ?? "" };
  const create = async (name: string, database: string) => {
    const { uuid } = await createApplication(server, repository, {
      ...{ ...where, name, domains: `http://${name}.shop.example` },
    });
    await deploy(uuid);
    // The address of the test's own repository names a temporary folder.
    await client.applications.update.mutate({ uuid, git_repository: `https://git.shop.example/${name}.git` });
    await client.databases.create.postgresql.mutate({ ...where, name: database });
    await refer(server, uuid, "DATABASE_URL", database);
    return uuid;
  };
  const api = await create("api", "articles");
  await create("orders", "payments");
  return { project, api };
}
