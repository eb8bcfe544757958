import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { allPages, PAGES_OF_TEAM, type PagedObjects, pagesOfObjects, readPages } from "./all-pages.fixture.ts";
import {
  accessibilityProblems,
  describeLargeInBrowser,
  openBrowser,
  picture,
  settled,
  signIn,
  type Visit,
  visit,
} from "./browser.fixture.ts";
import { byAddress, moveTo } from "./navigation.fixture.ts";
import { type Shop, shopOf } from "./shop.fixture.ts";

/** What a member may press: it shows, copies, chooses or fills in something, and sends nothing. */
const HARMLESS =
  /^(Check again|Search|Copy|Copy id|Copy public key|As code|Download|GREETING|(Choose|Show|Hide|Clear) .+)$/;
/** What concerns the user alone, and the choice of what is new. */
const OWN: Readonly<Record<string, RegExp>> = {
  account: /^(Sign out everywhere else|Change password|Set up an authenticator app)$/,
  new: /^An? (folder|git repository|template|database|image|compose file)[A-Z]/,
};

/** Why a member may not press a button. */
const MEMBER =
  /: Your role in Root Team is member(, which may only read. Ask an administrator of the team.|. Only owners may do this.)$/;

const FOR_OWNERS = "Your role in Root Team is admin. Only owners may do this.";

/** The last lines of a service on a server that cannot be reached. The page says that it does not run. */
const OUT_OF_REACH = /status of 400 .*services\.logs\.tail/;

/** What another team must not see. Addresses contain the host's name too. */
const OF_SHOP = /shopdb|Shop|GREETING|SMTP_HOST|(?<![@/])localhost|127\.0\.0\.7|member@example/;

describeLargeInBrowser("the pages by role", () => {
  let server: TestServer;
  let browser: Browser;
  let shop: Shop;
  let objects: PagedObjects;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
    shop = await shopOf(server);
    objects = await objectsOf(server, shop);
    await server.client.applications.envs.create.mutate({ uuid: objects.application, key: "GREETING", value: "hello" });
    const shared = { key: "SMTP_HOST", value: "smtp.example.com" };
    await server.client.sharedVariables.project.create.mutate({ uuid: shop.project, ...shared });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  /** A browser of its own, in which a new member of the team is signed in. */
  async function visitAs(role: "owner" | "admin" | "member"): Promise<Visit> {
    const { client } = server;
    const { id } = await client.teams.current.query();
    const email = `${role}@example.com`;
    // A second try of a test finds the member of the first one.
    const known = (await client.teams.members.list.query({ id })).find((member) => member.email === email);
    const { id: user_id } = known ?? (await client.teams.members.add.mutate({ id, email, role }));
    const opened = await visit(browser, server.url);
    await signIn(opened.page, server, () => client.teams.members.createSignInLink.mutate({ id, user_id }));
    return opened;
  }

  it("let an owner change the URLs of each container of a service", async () => {
    const { page, complaints, close } = await visitAs("owner");
    await page.goto(`/services/${shop.mail}/domains`);
    await page.getByText("It has no URL: nothing is routed to it.").waitFor();
    const field = page.getByLabel("URLs of web");
    await field.fill("http://mail.example.test:8080,http://post.example.test:8080/inbox");
    await page.getByRole("button", { name: "Save URLs" }).click();
    await page
      .getByRole("region", { name: "URLs" })
      .getByRole("link", { name: /post\.example/ })
      .waitFor();
    await picture(page, "service-domains");
    const [web] = (await server.client.services.get.query({ uuid: shop.mail })).applications;
    expect(web?.fqdn).toBe("http://mail.example.test:8080,http://post.example.test:8080/inbox");
    await field.fill("");
    await page.getByRole("button", { name: "Save URLs" }).click();
    await page.getByText("It has no URL: nothing is routed to it.").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it("let a member read everything, and say at each button for more why it cannot be pressed", async () => {
    const { page, complaints, close } = await visitAs("member");
    const pages = allPages(objects);
    const refused: Record<string, readonly string[]> = {};
    const read = async (name: string) => {
      refused[name] = await refusalsOf(page);
      const pressable = await buttonsOf(page, ":not([aria-disabled=true]):not(:disabled)");
      const unexplained = refused[name].filter((text) => !MEMBER.test(text));
      const mayPress = (button: string) => HARMLESS.test(button) || OWN[name]?.test(button) === true;
      return [...pressable.filter((button) => !mayPress(button)), ...unexplained];
    };
    // A page that is loaded does not know its user yet, and must not ask for what a member may not read.
    const wrong = await readPages(page, pages, read, byAddress);
    expect(wrong).toEqual({});
    // Not only because nothing was found.
    expect(Object.values(refused).flat().length).toBeGreaterThan(Object.keys(pages).length);
    await page.goto(`/applications/${shop.api}`);
    await settled(page);
    const deploy = page.getByRole("button", { name: "Deploy", exact: true });
    await deploy.focus();
    await page.getByText("Your role in Root Team is member, which may only read.").waitFor();
    await picture(page, "member-refused");
    await deploy.press("Enter");
    await page.goto(`/applications/${shop.api}/deployments`);
    await settled(page);
    expect((await server.client.deployments.listByApplication.query({ uuid: shop.api })).count).toBe(0);
    // Nothing was asked for that is refused.
    expect(complaints.filter((text) => !OUT_OF_REACH.test(text))).toEqual([]);
    await close();
  }, 400_000);

  it("ask for nothing that a member may not read, also while it is not known yet who asks", async () => {
    const { page, complaints, close } = await visitAs("member");
    // A tab that kept its overview shows nothing before it knows who asks.
    await page.addInitScript(() => sessionStorage.clear());
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(/auth\.current/, async (route) => {
      // In one request with it, the two are answered together.
      if (!route.request().url().includes("teams.current")) await promise;
      await route.continue();
    });
    await page.goto("/team/sign-in");
    await page.getByRole("button", { name: "Save team" }).waitFor();
    resolve();
    await page.getByText("Your role in Root Team is member, which may only read.").waitFor();
    await settled(page);
    expect(complaints).toEqual([]);
    await close();
  });

  it("let an administrator do everything but what is for owners", async () => {
    const { page, complaints, close } = await visitAs("admin");
    expect(await readPages(page, allPages(objects), () => refusalsOf(page))).toEqual({
      "team/members": ["Sign-in link", "Reset second factor", "Remove"].map((name) => `${name}: ${FOR_OWNERS}`),
      "team/sign-in": [`Save team: ${FOR_OWNERS}`],
    });
    await page.goto("/team");
    await settled(page);
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    expect(await row("Root").getByRole("button", { name: "Remove" }).getAttribute("aria-disabled")).toBe("true");
    expect(await row("Root").getByRole("combobox").or(row("Root").getByRole("textbox")).isDisabled()).toBe(true);
    expect(await row("member").getByRole("button", { name: "Remove" }).getAttribute("aria-disabled")).toBeNull();
    await row("Root").getByRole("button", { name: "Remove" }).hover();
    await page.getByText("Only owners may do this.").waitFor();
    await page.goto("/team/sign-in");
    await settled(page);
    await page.getByRole("button", { name: "Save team" }).focus();
    await page.getByText("Your role in Root Team is admin. Only owners may do this.").waitFor();
    expect(complaints.filter((text) => !OUT_OF_REACH.test(text))).toEqual([]);
    await close();
  });

  it("let an owner do everything", async () => {
    const { page, complaints, close } = await visitAs("owner");
    expect(await readPages(page, allPages(objects), () => buttonsOf(page, "[aria-disabled=true]"))).toEqual({});
    expect(complaints.filter((text) => !OUT_OF_REACH.test(text))).toEqual([]);
    await close();
  });

  it("show another team nothing of this one", async () => {
    const { client } = server;
    const { id } = await client.teams.create.mutate({ name: "Others" });
    const made = await client.tokens.create.mutate({ name: "others", abilities: ["root"], team_id: id });
    const others = server.clientAs(made.token);
    const { id: user_id } = await others.teams.members.add.mutate({ id, email: "other@example.com", role: "owner" });
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server, () => others.teams.members.createSignInLink.mutate({ id, user_id }));
    await page.getByText("Nothing is deployed yet").waitFor();
    for (const path of Object.values(pagesOfObjects(objects))) {
      await moveTo(page, path);
      await page
        .getByRole("heading", { name: /^(Project|Application|Database|Service|Deployment|Server) not found$/ })
        .waitFor();
      await settled(page);
      expect(await page.title()).toMatch(/ not found · Berth$/);
      expect([path, await page.locator("body").textContent()]).toEqual([path, expect.not.stringMatching(OF_SHOP)]);
    }
    expect(await accessibilityProblems(page)).toEqual([]);
    const shown = await readPages(page, PAGES_OF_TEAM, async () => {
      const text = (await page.locator("main").textContent()) ?? "";
      return text.match(OF_SHOP) ?? [];
    });
    expect(shown).toEqual({});
    expect(complaints.filter((text) => !/status of (404|207)/.test(text))).toEqual([]);
    await close();
  });
});

/** Names of the page's own buttons, without those of the frame around it. */
async function buttonsOf(page: Page, which: string): Promise<readonly string[]> {
  const names = await page
    .locator(`main button${which}:not([role=tab])`)
    .evaluateAll((buttons) =>
      buttons.map((button) => (button.getAttribute("aria-label") ?? button.textContent ?? "").trim()),
    );
  return [...new Set(names)];
}

/** Of each button that the role refuses its name and the reason that it shows when it has the focus. */
const refusalsOf = (page: Page): Promise<readonly string[]> => page.evaluate(REFUSALS);

/** Runs in the page, where there are hundreds of such buttons. A live update may replace them. */
const REFUSALS = `(async () => {
  const buttons = () => document.querySelectorAll("main button[aria-disabled=true]");
  const reason = () => document.querySelector("[role=tooltip]");
  const until = (isSo, what) => new Promise((resolve, reject) => {
    const end = () => {
      observer.disconnect();
      clearTimeout(late);
      resolve();
    };
    const observer = new MutationObserver(() => isSo() && end());
    const late = setTimeout(() => reject(new Error(what)), 60_000);
    observer.observe(document, { subtree: true, childList: true, attributes: true });
    if (isSo()) end();
  });
  const refusals = new Set();
  for (let index = 0; index < buttons().length; index++) {
    const button = buttons()[index];
    const name = button.textContent;
    button.focus();
    await until(() => reason()?.checkVisibility({ visibilityProperty: true }), "No reason is shown at " + name);
    refusals.add(name + ": " + reason().textContent);
    button.blur();
    await until(() => reason() === null, "The reason stays at " + name);
  }
  return [...refusals];
})()`;

/** Objects with pages of every kind. */
async function objectsOf({ client }: TestServer, shop: Shop): Promise<PagedObjects> {
  const servers = await client.servers.list.query({});
  const uuidOf = (name: string) => servers.find((one) => one.name === name)?.uuid ?? "";
  const where = { project_uuid: shop.project, environment_name: "production", server_uuid: uuidOf("localhost") };
  const repository = { git_repository: "https://git.example.test/shop/site.git", git_branch: "main" };
  const site = await client.applications.createPublic.mutate({
    ...{ ...where, ...repository, name: "site", build_pack: "nixpacks", ports_exposes: "3000" },
  });
  const { deployments = [] } = await client.deploy.mutate({ uuid: shop.mail });
  return {
    project: shop.project,
    application: site.uuid,
    database: shop.shopdb,
    service: shop.mail,
    server: uuidOf("far"),
    machine: uuidOf("localhost"),
    deployment: deployments[0]?.deployment_uuid ?? "",
  };
}
