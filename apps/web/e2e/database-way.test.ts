import { describeDocker, hasChromium, until } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type DockerServer, dockerServer, execIn } from "../../server/e2e/docker.fixture.ts";

import { accessibilityProblems, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describeDocker("a database without a word of REST", ["postgres:17-alpine"], (docker) => {
  let server: DockerServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: docker.name("way") } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it.skipIf(!hasChromium)("is attached, saved, tried by a drill and restored, and a drill is cancelled", async () => {
    const { client } = server;
    const project = await client.projects.create.mutate({ name: "Shop" });
    const where = { project_uuid: project.uuid, environment_name: "production" };
    const app = await client.applications.createUpload.mutate({ ...where, name: "greeter" });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/new/database?project=${project.uuid}`);
    await page.getByLabel("Name", { exact: true }).fill("shopdb");
    await page.getByLabel("Image").fill("postgres:17-alpine");
    await page.getByRole("button", { name: "Create and start" }).click();
    await page.waitForURL(/\/deployments\//);
    await page.getByText("Deployment finished").waitFor();
    const uuid = (await client.databases.list.query({}))[0]?.uuid ?? "";
    await page.goto(`/databases/${uuid}`);
    const users = page.getByRole("region", { name: "Used by" });
    await users.getByText("No variable refers to it").waitFor();
    await users.getByRole("button", { name: "Attach to a resource" }).click();
    await page.getByRole("combobox", { name: "Resource" }).click();
    await page.getByRole("option", { name: "greeter" }).click();
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await users.getByRole("link", { name: "greeter" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "way-database-attached");
    const [variable] = await client.applications.envs.list.query({ uuid: app.uuid });
    expect(variable).toMatchObject({ key: "DATABASE_URL" });

    // The same from the side of the application.
    await users.getByRole("link", { name: "greeter" }).click();
    const databases = page.getByRole("region", { name: "Databases" });
    await databases.getByRole("button", { name: /^Detach/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Detach" }).click();
    await databases.getByText("No variable refers to a database").waitFor();
    await databases.getByRole("button", { name: "Attach a database" }).click();
    await page.getByRole("combobox", { name: "Database" }).click();
    await page.getByRole("option", { name: "shopdb" }).click();
    await page.getByRole("textbox", { name: "Variable" }).fill("SHOP_URL");
    await page.getByRole("button", { name: "As code" }).click();
    const code = page.getByRole("dialog", { name: "The same by a program" });
    const example = (await code.getByLabel("berth example").textContent()) ?? "";
    expect(example).toContain(`berth api POST /databases/${uuid}/attachments`);
    expect(example).toContain(`resource_uuid=${app.uuid}`);
    await code.locator(".mantine-Modal-close").click();
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await databases.getByText("SHOP_URL").waitFor();
    await databases.getByRole("link", { name: "shopdb" }).click();

    await until(async () => (await client.databases.get.query({ uuid })).status === "running:healthy");
    await page.getByRole("tab", { name: "Backups" }).click();
    await page.getByRole("button", { name: "New schedule" }).click();
    await page.getByRole("button", { name: "Create schedule" }).click();
    const backups = page.getByRole("region", { name: "Saved backups" });
    for (const count of [1, 2]) {
      await page.getByRole("button", { name: "Back up now" }).click();
      await backups
        .getByRole("button", { name: "Drill" })
        .nth(count - 1)
        .waitFor();
    }
    // The history of what they took.
    await page
      .getByRole("figure", { name: "Size" })
      .getByText(/last [\d.]+ (B|KB|MB), at most/)
      .waitFor();
    await page
      .getByRole("figure", { name: "Duration" })
      .getByText(/last [\d.]+ s, at most/)
      .waitFor();
    await backups.getByRole("button", { name: "Drill" }).first().click();
    const tries = page.getByRole("region", { name: "Restores and drills" }).first();
    await tries.getByRole("row", { name: /Drill/ }).waitFor();
    await tries.getByRole("row", { name: /Finished|Succeeded/ }).waitFor();
    await picture(page, "way-database-saved");

    // Its content is replaced only for who typed its name.
    await backups.getByRole("button", { name: "Restore" }).first().click();
    const question = page.getByRole("dialog", { name: "Restore: shopdb" });
    const restore = question.getByRole("button", { name: "Restore" });
    expect(await restore.isDisabled()).toBe(true);
    await question.getByRole("textbox").fill("shopdb");
    expect(await accessibilityProblems(page)).toEqual([]);
    await restore.click();
    await tries.getByRole("row", { name: /Restore.*(Finished|Succeeded)/ }).waitFor();

    // Of the next backup, restoring a single row takes an hour.
    const { internal_db_url: url } = await client.databases.get.query({ uuid });
    const endless = (work: string) =>
      `create or replace function endless(int) returns boolean language plpgsql as $$ begin ${work}; return true; end $$`;
    const table = ["create table slow (id int check (endless(id)))", "insert into slow values (1)"];
    const statements = [endless("null"), ...table, endless("perform pg_sleep(3600)")];
    await execIn(docker, uuid, ["psql", url ?? "", ...statements.map((each) => `--command=${each}`)]);
    await page.getByRole("button", { name: "Back up now" }).click();
    await backups.getByRole("button", { name: "Drill" }).nth(2).waitFor();
    await backups.getByRole("button", { name: "Drill" }).first().click();
    await tries.getByRole("button", { name: "Cancel drill" }).click();
    await page.getByText("Drill cancelled successfully.").waitFor();
    await tries.getByRole("row", { name: /Drill.*Cancelled.*The original database was not changed/ }).waitFor();
    await backups.getByRole("button", { name: "Restore" }).first().click();
    await question.getByRole("textbox").fill("shopdb");
    await restore.click();
    await tries.getByRole("button", { name: "Cancel restore" }).click();
    await page.getByRole("dialog", { name: /^Cancel the restore/ }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "way-database-cancelled");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel restore" }).click();
    await tries.getByRole("row", { name: /Restore.*Cancelled by a user/ }).waitFor();
    expect(await tries.getByRole("button", { name: /^Cancel/ }).count()).toBe(0);

    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Delete with its data" }).click();
    const deletion = page.getByRole("dialog", { name: "Delete with its data: shopdb" });
    await deletion.getByText("It is used by greeter").waitFor();
    await deletion.getByRole("button", { name: "Keep it" }).click();
    expect(complaints).toEqual([]);
    await close();
  });

  it.skipIf(!hasChromium)("is beside an application that gets a second server on its page", async () => {
    const { client } = server;
    const [app] = await client.applications.list.query({});
    const others = (await client.servers.list.query({})).filter(({ uuid }) => uuid !== server.dockerUuid);
    const [{ name, uuid }] = others as [(typeof others)[number]]; // Berth's own machine, which runs processes.
    const [local] = await client.destinations.listOfServer.query({ uuid });
    const { page, complaints, close } = await visitSignedIn(browser, server, `/applications/${app?.uuid}`);
    await page.getByRole("button", { name: "Add a server" }).click();
    await page.getByRole("combobox", { name: "Destination" }).click();
    await page.getByRole("option", { name }).click();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("Destination attached.").waitFor();
    await page.getByText("It was not deployed to this server yet.").nth(1).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    const listed = await client.applications.destinations.list.query({ uuid: app?.uuid ?? "" });
    expect(listed).toMatchObject([{ is_primary: true }, { uuid: local?.uuid, is_primary: false }]);
    expect(complaints).toEqual([]);
    await close();
  });
});
