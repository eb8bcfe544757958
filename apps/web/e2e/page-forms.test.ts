import { randomUUID } from "node:crypto";
import { sshKeyPair, until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import {
  accessibilityProblems,
  describeLargeInBrowser,
  openBrowser,
  PASSWORD,
  picture,
  settled,
  signIn,
  visit,
  visitSignedIn,
} from "./browser.fixture.ts";
import { moveTo } from "./navigation.fixture.ts";

/** Texts that must be shown as text, wherever a name or a value is shown. */
const HOSTILE = [
  `"><img src=x onerror="window.hacked=1">`,
  "<script>window.hacked=1</script>",
  "javascript:window.hacked=1",
  "{{constructor.constructor('window.hacked=1')()}}",
  "\u202Egnp.exe<svg onload=window.hacked=1>",
];

describeLargeInBrowser("forms and names of the pages", () => {
  let server: TestServer;
  let browser: Browser;
  let uuid: string;
  beforeAll(async () => {
    server = await testServer({ env: { BERTH_EXAMPLE: "on" } });
    browser = await openBrowser();
    uuid = await applicationOf(server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it("say who deployed which commit, and lead from the activity to what each event is about", async () => {
    const [deployment] = (await server.client.deployments.listByApplication.query({ uuid })).deployments;
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const row = page.getByRole("row", { name: /^hello/ });
    await row.getByText(deployment?.commit.slice(0, 8) ?? "").waitFor();
    await row.getByText(/ago|just now/).click();
    await page.waitForURL(`**/deployments/${deployment?.deployment_uuid}`);
    await moveTo(page, "/team/activity");
    const event = (name: RegExp) => page.getByRole("row", { name }).first().getByRole("link");
    const addressOf = (name: RegExp) => event(name).getAttribute("href");
    await event(/deployment: finished/).waitFor();
    expect(await addressOf(/deployment: finished/)).toMatch(/^\/deployments\/[a-z0-9]+$/);
    expect(await addressOf(/resource: created/)).toBe(`/applications/${uuid}`);
    expect(await addressOf(/project: created/)).toMatch(/^\/projects\/[a-z0-9]+$/);
    expect(await addressOf(/token: created/)).toBe("/team/tokens");
    await event(/resource: created/).click();
    await page.getByRole("heading", { name: "hello" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("add tags to a resource and remove them", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    const tags = page.getByRole("region", { name: "Tags" });
    await tags.getByText("No tags").waitFor();
    await tags.getByText(`berth applications tags attach ${uuid} --tag-name frontend`).waitFor();
    for (const name of ["Frontend", "shop"]) {
      await tags.getByRole("button", { name: "Add tag" }).click();
      const dialog = page.getByRole("dialog", { name: "Add tag" });
      await dialog.getByRole("textbox").fill(name);
      await dialog.getByRole("button", { name: "Add tag" }).click();
      await dialog.waitFor({ state: "detached" });
      await tags.getByRole("row", { name: new RegExp(`^${name}`, "i") }).waitFor();
    }
    await tags.getByRole("button", { name: "Remove frontend" }).click();
    await tags.getByRole("row", { name: /^frontend/ }).waitFor({ state: "detached" });
    const named = await server.client.applications.tags.list.query({ uuid });
    expect(named.map(({ name }) => name)).toEqual(["shop"]);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it("keep the navigation where an address names no page, and say how Berth reaches its own machine", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    await page.goto("/nothing/here");
    await page.getByText("This page does not exist").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Servers" }).click();
    await page.getByRole("link", { name: "localhost" }).click();
    await page.getByText("The machine that Berth runs on").waitFor();
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("heading", { name: "Disk" }).waitFor();
    expect(await page.getByRole("heading", { name: "Connection" }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  it("lead from an empty environment to forms that create in it", async () => {
    const [project] = await server.client.projects.list.query({});
    const { page, complaints, close } = await visitSignedIn(browser, server, `/projects/${project?.uuid}`);
    const field = page.getByRole("textbox", { name: "Name" }).last();
    await field.fill("staging");
    await page.getByRole("button", { name: "Create environment" }).click();
    const staging = page.getByRole("region", { name: "staging" });
    await staging.getByText("Applications, databases and services in staging are listed here.").waitFor();
    await staging.getByRole("link", { name: "New", exact: true }).click();
    await page.getByText("An image", { exact: true }).click();
    await until(async () => (await page.getByRole("combobox", { name: "Environment" }).inputValue()) === "staging");
    await moveTo(page, `/projects/${project?.uuid}`);
    await page.getByRole("region", { name: "production" }).getByRole("link", { name: "New in production" }).click();
    await page.getByText("An image", { exact: true }).click();
    await until(async () => (await page.getByRole("combobox", { name: "Environment" }).inputValue()) === "production");
    expect(complaints).toEqual([]);
    await close();
  });

  it("show as code what editing variables as text sends, with values as placeholders", async () => {
    const { client } = server;
    await client.applications.envs.updateBulk.mutate({ uuid, data: [{ key: "OLD", value: "hush" }] });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/variables`);
    await page.getByRole("button", { name: "Edit as text" }).click();
    const editor = page.getByRole("dialog", { name: "Variables as text" });
    await editor.getByRole("textbox").fill("NEW=hush hush");
    await editor.getByRole("button", { name: "As code" }).click();
    const example = page.getByRole("dialog", { name: "The same by a program" }).getByLabel("berth example");
    const text = (await example.textContent()) ?? "";
    expect(text).toContain("NEW");
    expect(text).toContain(`berth api PATCH /applications/${uuid}/envs/bulk --input -`);
    expect(text).toMatch(new RegExp(`berth api DELETE /applications/${uuid}/envs/[a-z0-9]+`));
    expect(text).not.toContain("hush");
    expect(complaints).toEqual([]);
    await close();
  });

  it("show hostile names and values as text, on open pages and on new ones", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const change = async (text: string) => {
      // The server removes tags from names, but stores descriptions, comments and values unchanged.
      const name = text.replaceAll(/[<>]/g, "‹");
      await server.client.applications.update.mutate({ uuid, name, description: text });
      await server.client.applications.envs.updateBulk.mutate({
        uuid,
        data: [{ key: "HOSTILE", value: text, comment: text }],
      });
    };
    const markOf = (text: string) => text.slice(1, 8).replaceAll(/[<>]/g, "‹");
    for (const path of ["/", `/applications/${uuid}`]) {
      if (path !== "/") await moveTo(page, path);
      await settled(page);
      for (const text of HOSTILE) {
        await change(text);
        await page.getByText(markOf(text)).first().waitFor();
      }
      expect(await page.evaluate("'hacked' in window")).toBe(false);
    }
    for (const text of HOSTILE) {
      await change(text);
      for (const path of [`/applications/${uuid}/variables`, `/applications/${uuid}/settings`]) {
        await moveTo(page, path);
        await settled(page);
        await page.getByText(markOf(text)).first().waitFor();
      }
      expect(await page.evaluate("'hacked' in window")).toBe(false);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("choose from a list by the keyboard, beginning at what is chosen", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    const field = page.getByRole("combobox", { name: "Build pack" });
    const chosen = await field.inputValue();
    await field.press("ArrowDown");
    await page.getByRole("option", { name: chosen }).and(page.locator("[aria-selected=true]")).waitFor();
    await field.press("ArrowDown");
    await field.press("Enter");
    await until(async () => ![chosen, ""].includes(await field.inputValue()));
    expect(await page.getByRole("listbox").isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    await close();
  });

  it("open a dialog by the keyboard, and give the focus back when it is closed", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    const button = page.getByRole("button", { name: "As code" }).first();
    const dialog = page.getByRole("dialog", { name: "The same by a program" });
    // Opened again, it is already there.
    for (let times = 0; times < 2; times += 1) {
      await button.press("Enter");
      await dialog.waitFor();
      await dialog.locator(":focus").waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await button.and(page.locator(":focus")).waitFor();
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("edit what was created, and keep the secrets for which no others are entered", async () => {
    const { client } = server;
    const { privateKey } = sshKeyPair();
    const key = await client.privateKeys.create.mutate({ name: "old key", private_key: privateKey });
    const login = { name: "old registry", address: "registry.example.com", username: "ada", password: "hunter2" };
    const registry = await client.registries.create.mutate(login);
    const bucket = { endpoint: "https://s3.example.com", bucket: "backups", region: "eu-central-1" };
    const storage = await client.s3Storages.create.mutate({
      ...bucket,
      name: "old bucket",
      key: "AKIA",
      secret: "hush",
    });
    const mounts = { mount_path: "/etc/old.conf", content: "port = 1" };
    const file = await client.applications.storages.create.mutate({ uuid, type: "file", ...mounts });
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server);

    const edit = async (path: string, name: string, field: string, value: string) => {
      await page.goto(path);
      await page.getByRole("button", { name: `Edit ${name}` }).click();
      const form = page.getByRole("dialog");
      await form.getByRole("textbox", { name: field }).fill(value);
      expect(await accessibilityProblems(page)).toEqual([]);
      await form.getByRole("button", { name: "As code" }).click();
      const code = page.getByRole("dialog", { name: "The same by a program" });
      const example = (await code.getByLabel("berth example").textContent()) ?? "";
      await code.locator(".mantine-Modal-close").click();
      await form.getByRole("button", { name: /^Save/ }).click();
      await page.getByText("Saved.").waitFor();
      return example;
    };
    const ofKey = await edit("/team/keys", "old key", "Name", "new key");
    expect(ofKey).toContain(`berth api PATCH /security/keys/${key.uuid}`);
    expect(ofKey).not.toContain(privateKey.split("\n")[1]);
    await edit("/team/registries", "old registry", "Username", "grace");
    expect(await edit("/team/storages", "old bucket", "Region", "eu-north-1")).toBe(
      `berth api PATCH /s3-storages/${storage.uuid} \\\n  -f region=eu-north-1`,
    );
    expect(await edit(`/applications/${uuid}/storage`, "/etc/old.conf", "Mount path", "/etc/new.conf")).toContain(
      `berth api PATCH /applications/${uuid}/storages \\\n  -f uuid=${file.uuid}`,
    );

    const changed = await client.privateKeys.get.query({ uuid: key.uuid });
    expect([changed.name, changed.private_key?.trim()]).toEqual(["new key", privateKey.trim()]);
    expect(await client.registries.get.query({ uuid: registry.uuid })).toMatchObject({ ...login, username: "grace" });
    expect(await client.s3Storages.get.query({ uuid: storage.uuid })).toMatchObject({
      ...{ ...bucket, region: "eu-north-1", key: "AKIA", secret: "hush" },
    });
    const { file_storages } = await client.applications.storages.list.query({ uuid });
    expect(file_storages.find((each) => each.uuid === file.uuid)).toMatchObject({
      ...{ mount_path: "/etc/new.conf", content: "port = 1" },
    });

    // As if 16 minutes had passed since the password was given.
    await page.route(/privateKeys\.list/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replaceAll(/"private_key":"[^"]*",/g, "") });
    });
    await page.goto("/team/keys");
    await page.getByRole("button", { name: "Confirm to edit new key" }).click();
    await page.unroute(/privateKeys\.list/);
    const confirmation = page.getByRole("dialog", { name: "Confirm that it is you" });
    await confirmation.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await confirmation.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Edit new key" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it("keep shared variables with a project, an environment and a server, and change them there", async () => {
    const { client } = server;
    const [project] = await client.projects.list.query({});
    const [machine] = await client.servers.list.query({});
    const ofProject = { uuid: project?.uuid ?? "" };
    const ofMachine = { uuid: machine?.uuid ?? "" };
    const ofEnvironment = { ...ofProject, environment_name_or_uuid: "production" };
    const { page, complaints, close } = await visitSignedIn(browser, server, "/");
    const add = async (title: string, key: string) => {
      const section = page.getByRole("region", { name: title, exact: true });
      await section.getByRole("button", { name: "Add a shared variable" }).first().click();
      const form = page.getByRole("dialog", { name: "Add a shared variable" });
      await form.getByRole("textbox", { name: "Key" }).fill(key);
      await form.getByRole("textbox", { name: "Value" }).fill("one");
      await form.getByRole("button", { name: "As code" }).click();
      const code = page.getByRole("dialog", { name: "The same by a program" });
      const example = (await code.getByLabel("berth example").textContent()) ?? "";
      await code.locator(".mantine-Modal-close").click();
      await form.getByRole("button", { name: "Add a shared variable" }).click();
      await section.getByRole("row", { name: key }).waitFor();
      return example.split("\n")[0];
    };
    await page.goto(`/projects/${ofProject.uuid}`);
    await page.getByText("Variables", { exact: true }).click();
    const base = `berth api POST /projects/${ofProject.uuid}`;
    expect(await add("Shared variables of the project", "WHOLE")).toBe(`${base}/shared-variables \\`);
    expect(await add("Shared variables of production", "PART")).toMatch(/\/environments\/\w+\/shared-variables/);
    await moveTo(page, `/servers/${ofMachine.uuid}`);
    await page.getByRole("tab", { name: "Shared variables" }).click();
    await add("Shared variables", "NEAR");
    await page.getByText("{{ server.NEAR }}").waitFor();
    await page.getByRole("button", { name: "Edit NEAR" }).click();
    await page.getByRole("dialog", { name: "NEAR" }).getByRole("textbox", { name: "Value" }).fill("two");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Save variable" }).click();
    await page.getByText("Saved.").waitFor();
    const shared = client.sharedVariables;
    expect(await shared.project.list.query(ofProject)).toMatchObject([{ key: "WHOLE", value: "one" }]);
    expect(await shared.environment.list.query(ofEnvironment)).toMatchObject([{ key: "PART", value: "one" }]);
    expect(await shared.server.list.query(ofMachine)).toMatchObject([{ key: "NEAR", value: "two" }]);
    await page.getByRole("button", { name: "Delete NEAR" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No shared variables").waitFor();
    expect(await shared.server.list.query(ofMachine)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it("move an application to an environment of another project", async () => {
    const name = `Archive ${randomUUID()}`;
    const project = await server.client.projects.create.mutate({ name });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    // The offered names are hidden when their field leaves the window, as on a page that is still growing.
    await settled(page);
    await page.getByRole("combobox", { name: "Project" }).click();
    await page.getByRole("option", { name }).click();
    await page.getByRole("combobox", { name: "Environment" }).click();
    await page.getByRole("option", { name: "production" }).click();
    await page.getByRole("button", { name: "Move", exact: true }).click();
    await page.getByText("Application moved successfully.").waitFor();
    const moved = await server.client.applications.get.query({ uuid });
    expect(moved).toMatchObject({ project_uuid: project.uuid, environment_name: "production" });
    expect(complaints).toEqual([]);
    await close();
  });

  it("show the servers of an application with what keeps each back, and remove one", async () => {
    const { client } = server;
    const key = await client.privateKeys.create.mutate({ private_key: sshKeyPair().privateKey });
    const unreachable = { name: "far", ip: "127.0.0.7", port: 9, private_key_uuid: key.uuid };
    const { uuid: server_uuid } = await client.servers.create.mutate(unreachable);
    const [destination] = await client.destinations.listOfServer.query({ uuid: server_uuid });
    await client.applications.destinations.attach.mutate({ uuid, destination_uuid: destination?.uuid ?? "" });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}`);
    await page.getByText("It was not deployed to this server yet.").or(page.getByText("is not within reach")).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("button", { name: "Remove from far" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("Destination detached.").waitFor();
    await until(async () => (await page.getByRole("button", { name: "Remove from far" }).count()) === 0);
    expect(complaints).toEqual([]);
    await close();
  });

  it("move an application to another destination and end at the deployment there", async () => {
    await until(async () => (await server.client.deployments.list.query({})).length === 0);
    const [local] = await server.client.servers.list.query({});
    const name = `second-${randomUUID()}`;
    const place = { uuid: local?.uuid ?? "", name, network: name };
    const second = await server.client.destinations.create.mutate(place);
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    const section = page.getByRole("region", { name: "Move to another server" });
    await section.getByRole("combobox", { name: "Server" }).click();
    await page.getByRole("option", { name: `localhost, ${name}` }).click();
    await page.getByRole("button", { name: "Move to the server" }).click();
    await page.getByText("Application migration started.").waitFor();
    await page.waitForURL(/\/deployments\//);
    expect((await server.client.applications.get.query({ uuid })).destination.uuid).toBe(second.uuid);
    expect(complaints).toEqual([]);
    await close();
  });

  it("start an application that was stopped, and end at its deployment", async () => {
    await until(async () => (await server.client.deployments.list.query({})).length === 0);
    await server.client.applications.stop.mutate({ uuid });
    await until(async () => (await server.client.applications.get.query({ uuid })).status.startsWith("exited"));
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}`);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/deployments\//);
    await until(async () => (await server.client.applications.get.query({ uuid })).status === "running:healthy");
    expect(complaints).toEqual([]);
    await close();
  });

  it("turn a server's log drain on, and say at its field what is missing", async () => {
    const [machine] = await server.client.servers.list.query({});
    if (machine === undefined) throw new Error("Berth's own machine is a server.");
    const { page, close } = await visitSignedIn(browser, server, `/servers/${machine.uuid}/settings`);
    const form = page.getByRole("form", { name: "Save log drains" });
    await form.getByLabel("Dataset name").fill("shop");
    await form.getByLabel("Axiom enabled").check({ force: true });
    await form.getByRole("button", { name: "Save log drains" }).click();
    await form.getByText(/^Needed for/).waitFor();
    await form.getByLabel("API key", { exact: true }).fill("xaat-key");
    await form.getByRole("button", { name: "Save log drains" }).click();
    await page.getByText("Saved.").waitFor();
    expect(await server.client.logDrains.get.query({ uuid: machine.uuid })).toMatchObject({
      is_logdrain_axiom_enabled: true,
      logdrain_axiom_dataset_name: "shop",
      logdrain_axiom_api_key: "xaat-key",
    });
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });

  it("add a destination to a server, rename it, delete it, and say why one in use stays", async () => {
    const [machine] = await server.client.servers.list.query({});
    const { page, complaints, close } = await visitSignedIn(browser, server, `/servers/${machine?.uuid}/settings`);
    const section = page.getByRole("region", { name: "Destinations", exact: true }).first();
    await section.getByRole("button", { name: "Add a destination" }).click();
    const form = page.getByRole("dialog", { name: "Add a destination" });
    await form.getByRole("textbox", { name: "Network" }).fill("backend");
    await form.getByRole("button", { name: "As code" }).click();
    const code = page.getByRole("dialog", { name: "The same by a program" });
    expect(await code.getByLabel("berth example").textContent()).toBe(
      `berth api POST /servers/${machine?.uuid}/destinations \\\n  -f network=backend`,
    );
    await code.locator(".mantine-Modal-close").click();
    await form.getByRole("button", { name: "Add a destination" }).click();
    await section.getByRole("button", { name: "Rename backend" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("inner");
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await section.getByRole("row", { name: /^inner backend/ }).waitFor();
    await section.getByRole("button", { name: "Delete inner" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await section.getByRole("row", { name: /inner/ }).waitFor({ state: "detached" });
    // Another test may have moved the application to another destination.
    const { destination } = await server.client.applications.get.query({ uuid });
    await section.getByRole("button", { name: `Delete ${destination.name}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText(/^Destination has resources, so it is in use/).waitFor();
    expect(complaints.filter((text) => !/status of 409/.test(text))).toEqual([]);
    await close();
  });

  it("offer the keys of a compose file, and underline what is wrong in it with its line and column", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const { page, complaints, close } = await visitSignedIn(browser, server, "/new/compose", { scheme });
      const editor = page.getByRole("textbox", { name: "Compose file" });
      await editor.click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("  worker:\n  image: nginx\nhealthc");
      await page.getByRole("option", { name: "healthcheck" }).waitFor();
      await picture(page, `compose-keys-${scheme}`);
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await page.getByText("healthcheck:").waitFor();
      await page.keyboard.type("\nprots: [80]");
      // A check in the middle of the typing underlines what was typed so far.
      const wrong = page.locator(".cm-lintRange-error").filter({ hasText: /^prots$/ });
      await wrong.waitFor();
      await wrong.hover();
      await page.getByText(/Unknown key.* See line \d+, column \d+/).waitFor();
      await picture(page, `compose-problem-${scheme}`);
      expect(complaints).toEqual([]);
      await close();
    }
  });

  it("find everything by its name with the keyboard alone", async () => {
    // Another test gives it hostile names.
    await server.client.applications.update.mutate({ uuid, name: "hello" });
    const [deployment] = (await server.client.deployments.listByApplication.query({ uuid })).deployments;
    await server.client.tokens.create.mutate({ name: "ci-of-hello", abilities: ["read"] });
    const { page, complaints, close } = await visitSignedIn(browser, server, "/", { scheme: "dark" });
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Search or do …").fill("localhost");
    await page.getByRole("button", { name: /localhost/ }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "localhost" }).waitFor();
    const { deployment_uuid: newest = "", commit = "" } = deployment ?? {};
    for (const [typed, name, path] of [
      [commit, "hello: newest deployment", `**/deployments/${newest}`],
      ["ci-of-hello", "ci-of-hello", "**/team/tokens"],
      [newest, "hello: newest deployment", `**/deployments/${newest}`],
      ["uptime-kuma", "New uptime-kuma", "**/new/template?template=uptime-kuma"],
    ] as const) {
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder("Search or do …").fill(typed);
      await page.getByRole("dialog").getByRole("button", { name }).first().click();
      await page.waitForURL(path);
    }
    await page.getByRole("heading", { name: "uptime-kuma" }).waitFor();
    for (const [name, path] of [
      ["Git hosts", /\/team\/git$/],
      ["My project", /\/projects\/\w+$/],
      ["Account", /\/account$/],
      ["hello: settings", /\/settings$/],
      ["Deploy hello", /\/deployments\/\w+$/],
    ] as const) {
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder("Search or do …").fill(name);
      await page.getByRole("dialog").getByRole("button", { name }).first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL(path);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it("show the code of a button instead of doing it", async () => {
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${uuid}`);
    await page.getByRole("banner").getByRole("button").last().click();
    await page.getByRole("menuitem", { name: "Buttons as code" }).click();
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await stop.click();
    const example = page.getByLabel("berth example");
    await example.waitFor();
    expect(await example.textContent()).toBe(`berth api POST /applications/${uuid}/stop`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByLabel("Description").fill("another");
    await page.getByRole("button", { name: "Save settings" }).click();
    await example.waitFor();
    expect(await example.textContent()).toBe(`berth api PATCH /applications/${uuid} \\\n  -f description=another`);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("tab", { name: "Overview" }).click();
    await page.getByRole("button", { name: "Back to doing" }).click();
    expect((await server.client.applications.get.query({ uuid })).description).not.toBe("another");
    await stop.click();
    await page.getByRole("dialog").getByText("Stop it?", { exact: false }).waitFor();
    expect((await server.client.applications.get.query({ uuid })).status).toMatch(/^running/);
    expect(complaints).toEqual([]);
    await close();
  });

  it("say the same in a program's language, without the secret", async () => {
    const { page, close } = await visitSignedIn(browser, server, "/team/registries");
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

    // What the page is about stands in the path.
    await page.goto(`/applications/${uuid}/settings`);
    await page.getByRole("button", { name: "As code" }).first().click();
    await example.waitFor();
    expect(await example.textContent()).toContain(`berth api PATCH /applications/${uuid}`);
    await close();
  });

  it("show the server's words at the field that they are about", async () => {
    const { page, close } = await visitSignedIn(browser, server, `/applications/${uuid}/settings`);
    await page.getByLabel("Ports it listens on").fill("eighty");
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Port numbers, separated by commas.").waitFor();
    expect(await page.evaluate("document.activeElement.id.endsWith('ports_exposes')")).toBe(true);
    expect(await accessibilityProblems(page)).toEqual([]);
    await close();
  });
});

/** The example application, once it runs. */
async function applicationOf({ client }: TestServer): Promise<string> {
  return await until(async () => {
    const [application] = await client.applications.list.query({});
    return application?.status.startsWith("running") ? application.uuid : undefined;
  });
}
