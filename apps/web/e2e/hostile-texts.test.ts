import { type HetznerServer, startHetzner, until } from "@berth/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { temporaryRepository } from "../../server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { allPages, readPages } from "./all-pages.fixture.ts";
import { describeLargeInBrowser, openBrowser, settled, visitSignedIn } from "./browser.fixture.ts";
import { type HostileObjects, plantHostileObjects } from "./hostile-objects.fixture.ts";

/** What all pages show whose names begin so. */
const SHOWN_BY_MANY: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^/, ["user.name", "team.name"]],
  [/^team\//, ["team.description"]],
  [/^(new\/|(project|application|database|service)\b)/, ["project.name", "environment.name"]],
  [/^project/, ["project.description"]],
  [/^application/, ["application.name"]],
  [/^database/, ["database.name"]],
  [/^service/, ["service.name"]],
  [/^server/, ["server.name"]],
];
/** What a page shows besides, in forms that open from its rows too. `TEAM_` and `MACHINE_` stand for all that begin so. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  overview: [
    ...["project.name", "environment.name", "server.name", "application.name", "database.name", "service.name"],
  ],
  account: ["session.device", "provider.name"],
  "team/members": ["member.name"],
  "team/tokens": ["token.name"],
  "team/keys": ["key.name", "key.description"],
  "team/registries": ["registry.name", "registry.description", "registry.username"],
  "team/storages": ["s3.name", "s3.description"],
  "team/clouds": ["cloud.name"],
  "team/git": ["github.name", "github.client_id", "github.custom_user"],
  "team/variables": ["team-variable.value", "team-variable.comment", "TEAM_"],
  "team/notifications": ["email.from_name"],
  "team/sign-in": ["provider.name", "provider.client_id", "provider.groups_claim"],
  "team/activity": [
    ...["member.name", "token.name", "key.name", "s3.name", "cloud.name", "github.name", "provider.name"],
    ...["project.name", "environment.name", "server.name", "destination.name"],
    ...["application.name", "database.name", "service.name"],
  ],
  project: ["application.name", "database.name", "service.name"],
  "project/map": ["application.name", "database.name", "service.name", "server.name"],
  "project/variables": ["project-variable.value", "environment-variable.value"],
  deployment: ["application.name", "commit.message"],
  application: ["application.description", "preview.message"],
  "application/deployments": ["commit.message", "preview.message"],
  "application/logs": ["log.line"],
  "application/variables": ["variable.value", "variable.comment"],
  "application/storage": ["storage.path", "storage.content"],
  "application/settings": ["application.description", "tag.name"],
  "application/tasks": ["task.name", "task.command"],
  database: ["database.description"],
  "database/settings": ["database.description", "database.conf"],
  service: ["service.description", "server.name"],
  "service/settings": ["service.description"],
  "service/compose": ["service.compose"],
  server: ["service.name"],
  "server/variables": ["server-variable.value"],
  "server/settings": ["server.description", "destination.name", "log-drain.config"],
  machine: ["application.name", "database.name"],
  "machine/variables": ["MACHINE_"],
};
const shownOn = (name: string): readonly string[] => [
  ...SHOWN_BY_MANY.flatMap(([pages, fields]) => (pages.test(name) ? fields : [])),
  ...(SHOWN[name] ?? []),
];

describeLargeInBrowser("hostile texts on the pages", () => {
  const repository = temporaryRepository({
    "package.json": JSON.stringify({ name: "shop", version: "1.0.0", scripts: { start: "node server.js" } }),
  });
  let hetzner: HetznerServer;
  let server: TestServer;
  let browser: Browser;
  let hostile: HostileObjects;
  beforeAll(async () => {
    hetzner = await startHetzner({ token: "t0ken" });
    server = await testServer({
      env: { BERTH_HETZNER_URL: hetzner.url, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" },
    });
    browser = await openBrowser();
    hostile = await plantHostileObjects(server, repository, "t0ken");
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await hetzner?.close();
    repository.dispose();
  });

  const textsOn = (name: string): readonly Shown[] => {
    const expected = shownOn(name);
    return Object.entries(hostile.texts)
      .filter(([field]) => expected.some((one) => (one.endsWith("_") ? field.startsWith(one) : field === one)))
      .map(([field, text]) => ({ field, text }));
  };

  it("have a page that shows each of them", () => {
    const shown = Object.keys(allPages(hostile.objects)).flatMap((name) => textsOn(name));
    const texts = new Set(shown.map(({ field }) => field));
    expect(Object.keys(hostile.texts).filter((field) => !texts.has(field))).toEqual([]);
  });

  it("are shown as they are on every page that shows them, and run nowhere", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const missing = await readPages(page, allPages(hostile.objects), async (name) => {
      const inForms = await textsOfEdits(page);
      const unseen = await unseenOn(page, textsOn(name), inForms);
      expect([name, await page.evaluate("'hacked' in window")]).toEqual([name, false]);
      return unseen;
    });
    expect(missing).toEqual({});
    await page.goto("/");
    await settled(page);
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Search or do …").fill(hostile.texts["preview.message"] ?? "");
    const found = ["application.name", "preview.message"].map((field) => ({ field, text: hostile.texts[field] ?? "" }));
    expect(await unseenOn(page, found)).toEqual([]);
    expect(await page.evaluate("'hacked' in window")).toBe(false);
    expect(dialogs).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});

interface Shown {
  readonly field: string;
  readonly text: string;
}

/** Fields whose text the page does not show, once it had time to receive it. */
async function unseenOn(page: Page, shown: readonly Shown[], inForms: readonly string[] = []) {
  const unseen = async () => {
    const texts = [await textOf(page), ...inForms].join("\n");
    return shown.filter(({ text }) => !texts.includes(plain(text))).map(({ field }) => field);
  };
  await until(async () => (await unseen()).length === 0, { seconds: SHOWN_SECONDS }).catch(() => {});
  return await unseen();
}
/** A bound for what is never shown. */
const SHOWN_SECONDS = 10;

/** What a page says, also in its fields, with single spaces. */
async function textOf(page: Page): Promise<string> {
  const fields = await page
    .locator("input, textarea")
    .evaluateAll((inputs) => inputs.map((input) => (input as unknown as { readonly value: string }).value));
  return plain([await page.locator("body").textContent(), ...fields].join("\n"));
}

const plain = (text: string): string => text.replaceAll(/[\s\u202E]+/g, " ");

/** What the forms say that open from rows. */
async function textsOfEdits(page: Page): Promise<readonly string[]> {
  const texts: string[] = [];
  // Not by role: for each of a hundred buttons, the names of all would be computed.
  const dialog = page.locator("[role=dialog]:visible");
  const named = page.locator('button[aria-label^="Edit "]');
  const buttons = named.or(page.locator("button:not([aria-label])").filter({ hasText: /^Edit / }));
  for (const button of await buttons.all()) {
    await button.click();
    await dialog.locator("input, textarea, [role=textbox]").first().waitFor();
    // A long form is drawn in parts.
    await dialog.locator("form[aria-busy=true]").waitFor({ state: "detached" });
    texts.push(await textOf(page));
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
  return texts;
}
