import type { createClient } from "@berth/client";
import { until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import {
  accessibilityProblems,
  expectNothingSticksOut,
  hasChromium,
  NARROW,
  openBrowser,
  picture,
  problemsOf,
  type Scheme,
  settled,
  signIn,
  visit,
  WIDE,
} from "./browser.fixture.ts";

const LOOKS: readonly (readonly [Scheme, number])[] = [
  ["light", WIDE],
  ["dark", WIDE],
  ["light", NARROW],
  ["dark", NARROW],
];

/** Texts that must be shown as text, wherever a name or a value is shown. */
const HOSTILE = [
  `"><img src=x onerror="window.hacked=1">`,
  "<script>window.hacked=1</script>",
  "javascript:window.hacked=1",
  "{{constructor.constructor('window.hacked=1')()}}",
  "\u202Egnp.exe<svg onload=window.hacked=1>",
];

describe.skipIf(!hasChromium)("the pages", () => {
  let server: TestServer;
  let browser: Browser;
  let paths: Readonly<Record<string, string>>;
  beforeAll(async () => {
    server = await testServer({ env: { BERTH_EXAMPLE: "on" } });
    browser = await openBrowser();
    paths = await pathsOf(server);
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.each(LOOKS)(
    "show in %s at %i px nothing that axe, the policy or a narrow screen objects to",
    async (scheme, width) => {
      const { page, complaints, close } = await visit(browser, server.url, { scheme, width });
      await page.goto("/sign-in");
      await settled(page);
      const found: Record<string, unknown> = { "sign-in": await accessibilityProblems(page) };
      await picture(page, `sign-in-${scheme}-${width}`);
      await signIn(page, server);
      for (const [name, path] of Object.entries(paths)) {
        found[name] = await problemsOf(page, async () => {
          await page.goto(path);
          await settled(page);
          await picture(page, `${name}-${scheme}-${width}`);
          await expectNothingSticksOut(page);
          return accessibilityProblems(page);
        });
      }
      expect(Object.entries(found).filter(([, problems]) => String(problems) !== "")).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    },
    240_000,
  );

  it("show hostile names and values as text", async () => {
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server);
    const [application] = await server.client.applications.list.query({});
    const uuid = application?.uuid ?? "";
    for (const text of HOSTILE) {
      // The server removes tags from names, but stores descriptions, comments and values unchanged.
      await server.client.applications.update.mutate({ uuid, name: text.replaceAll(/[<>]/g, "‹"), description: text });
      await server.client.applications.envs.updateBulk.mutate({
        uuid,
        data: [{ key: "HOSTILE", value: text, comment: text }],
      });
      for (const path of [
        "/",
        `/applications/${uuid}`,
        `/applications/${uuid}/variables`,
        `/applications/${uuid}/settings`,
      ]) {
        await page.goto(path);
        await settled(page);
      }
      expect(await page.evaluate("'hacked' in window")).toBe(false);
    }
    await page.goto(`/applications/${uuid}/variables`);
    await page
      .getByText(HOSTILE.at(-1)?.slice(1, 8) ?? "")
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  it("find everything by its name with the keyboard alone", async () => {
    const { page, complaints, close } = await visit(browser, server.url, { scheme: "dark" });
    await signIn(page, server);
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Search or do …").fill("localhost");
    await page.getByRole("button", { name: /localhost/ }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "localhost" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("say the same in a program's language, without the secret", async () => {
    const { page, close } = await visit(browser, server.url);
    await signIn(page, server);
    await page.goto("/team/registries");
    await page.getByRole("button", { name: "Add a registry" }).first().click();
    await page.getByLabel("Address").fill("registry.example.com");
    await page.getByLabel("Username").fill("ada");
    await page.getByRole("textbox", { name: "Password" }).fill("hunter2");
    await page.getByRole("button", { name: "As code" }).click();
    const example = page.getByLabel("berth example");
    await example.waitFor();
    expect(await example.textContent()).toContain("berth api POST /registries");
    expect(await example.textContent()).toContain("username=ada");
    expect(await example.textContent()).not.toContain("hunter2");
    await page.getByText("curl", { exact: true }).click();
    expect(await page.getByLabel("curl example").textContent()).toContain(`${server.url}/api/v1/registries`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });

  it("show the server's words at the field that they are about", async () => {
    const { page, close } = await visit(browser, server.url);
    await signIn(page, server);
    await page.goto(paths.settings ?? "");
    await page.getByLabel("Ports exposes").fill("eighty");
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Port numbers, separated by commas.").waitFor();
    expect(await page.evaluate("document.activeElement.id.endsWith('ports_exposes')")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });
});

async function pathsOf({ client }: { readonly client: ReturnType<typeof createClient> }) {
  const [application] = await until(async () => {
    const list = await client.applications.list.query({});
    return list[0]?.status.startsWith("running") ? list : undefined;
  });
  const [server] = await client.servers.list.query({});
  const [project] = await client.projects.list.query({});
  const { deployments } = await client.deployments.listByApplication.query({ uuid: application?.uuid ?? "" });
  const base = `/applications/${application?.uuid}`;
  const machine = `/servers/${server?.uuid}`;
  const tabs = (of: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, `${of}/${name}`]));
  return {
    overview: "/",
    project: `/projects/${project?.uuid}`,
    application: base,
    ...tabs(base, ["deployments", "logs", "variables", "domains", "storage", "tasks", "metrics", "settings"]),
    deployment: `/deployments/${deployments[0]?.deployment_uuid}`,
    new: "/new",
    ...tabs("/new", ["folder", "git", "template", "database", "image", "compose"]),
    servers: "/servers",
    server: machine,
    ...tabs(machine, ["proxy", "cleanup", "jobs"]),
    "server-settings": `${machine}/settings`,
    members: "/team",
    ...tabs("/team", ["tokens", "keys", "registries", "storages", "activity"]),
    "team-sign-in": "/team/sign-in",
    account: "/account",
    "shared-variables": "/team/variables",
  };
}
