import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
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
import { type Shop, shopOf } from "./shop.fixture.ts";

/** What a member may press: it shows, copies or fills in something, and sends nothing. */
const HARMLESS =
  /^(Check again|Search|Copy|Copy id|Copy public key|As code|Download|GREETING|Choose a folder|(Show|Hide|Clear) .+)$/;

describeLargeInBrowser("the pages by role", () => {
  let server: TestServer;
  let browser: Browser;
  let shop: Shop;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
    shop = await shopOf(server);
    await server.client.applications.envs.create.mutate({ uuid: shop.api, key: "GREETING", value: "hello" });
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

  const pagesOf = async () => {
    const [machine] = await server.client.servers.list.query({});
    const tabs = (base: string, names: readonly string[]) => [base, ...names.map((name) => `${base}/${name}`)];
    const all = ["deployments", "logs", "variables", "storage", "metrics", "settings", "terminal", "domains", "tasks"];
    return [
      "/",
      `/projects/${shop.project}`,
      `/projects/${shop.project}?view=variables`,
      ...tabs(`/applications/${shop.api}`, all),
      ...tabs(`/databases/${shop.shopdb}`, ["settings", "backups"]),
      ...tabs(`/services/${shop.mail}`, ["settings", "containers", "compose", "domains"]),
      "/servers",
      ...tabs(`/servers/${machine?.uuid}`, [
        "proxy",
        "variables",
        "cleanup",
        "jobs",
        "metrics",
        "terminal",
        "settings",
      ]),
      ...tabs("/team", ["tokens", "keys", "registries", "storages", "git", "variables", "sign-in", "activity"]),
      "/new/folder",
      "/new/database",
    ];
  };

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
    const pressable: Record<string, readonly string[]> = {};
    for (const path of await pagesOf()) {
      await page.goto(path);
      await settled(page);
      const names = (await buttonsOf(page, ":not([aria-disabled=true]):not(:disabled)")).filter(
        (name) => !HARMLESS.test(name),
      );
      if (names.length > 0) pressable[path] = names;
    }
    expect(pressable).toEqual({});
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
    expect(complaints).toEqual([]);
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
    for (const path of [`/applications/${shop.api}`, `/applications/${shop.api}/settings`, "/team/keys"]) {
      await page.goto(path);
      await settled(page);
      expect(await buttonsOf(page, "[aria-disabled=true]")).toEqual([]);
    }
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
    expect(complaints).toEqual([]);
    await close();
  });

  it("let an owner do everything", async () => {
    const { page, complaints, close } = await visitAs("owner");
    for (const path of [`/applications/${shop.api}`, "/team", "/team/sign-in", `/servers`]) {
      await page.goto(path);
      await settled(page);
      expect(await buttonsOf(page, "[aria-disabled=true]")).toEqual([]);
    }
    expect(complaints).toEqual([]);
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
    const [machine] = await client.servers.list.query({});
    const { deployments = [] } = await client.deploy.mutate({ uuid: shop.mail });
    expect(deployments).toHaveLength(1);
    const foreign = [
      `/deployments/${deployments[0]?.deployment_uuid}`,
      `/projects/${shop.project}`,
      `/applications/${shop.api}`,
      `/databases/${shop.shopdb}`,
      `/services/${shop.mail}`,
      `/servers/${machine?.uuid}`,
    ];
    for (const path of foreign) {
      await page.goto(path);
      await page
        .getByRole("heading", { name: /^(Project|Application|Database|Service|Deployment|Server) not found$/ })
        .waitFor();
      expect(await page.title()).toMatch(/ not found · Berth$/);
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(await page.locator("body").textContent()).not.toMatch(/shopdb|Shop|localhost/);
    }
    for (const path of ["/", "/servers", "/team", "/team/activity", "/team/tokens"]) {
      await page.goto(path);
      await settled(page);
      expect(await page.locator("main").textContent()).not.toMatch(/shopdb|Shop|127\.0\.0\.7|member@example/);
    }
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
