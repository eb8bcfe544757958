import { hasChromium, type NotificationServer, notificationServer } from "@berth/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApplication, deploy, plainServer, temporaryRepository } from "../../server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { accessibilityProblems, openBrowser, picture, visitSignedIn } from "./browser.fixture.ts";

describe("a team's notifications", () => {
  let receiver: NotificationServer;
  let server: TestServer;
  let browser: Browser;
  const repository = temporaryRepository(plainServer("1"));
  beforeAll(async () => {
    receiver = await notificationServer();
    server = await testServer({ env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
    await receiver?.close();
    repository.dispose();
  });

  it.skipIf(!hasChromium)("go where they are turned on, and the page says which arrived", async () => {
    // Also when it is tried again.
    const off = { webhook_enabled: false, webhook_url: null, deployment_success_webhook_notifications: false };
    await server.client.notifications.webhook.update.mutate(off);
    const name = `shop-${receiver.received.length}`;
    const { page, complaints, close } = await visitSignedIn(browser, server, "/team");
    await page.getByRole("tab", { name: "Notifications" }).click();
    const sent = page.getByRole("region", { name: "Sent lately" });
    await sent.waitFor();
    await page.getByRole("combobox", { name: "Channel" }).click();
    await page.getByRole("option", { name: "Webhook" }).click();
    await page.getByRole("switch", { name: "Enabled" }).click({ force: true });
    await page.getByRole("button", { name: "Save Webhook" }).click();
    await page.getByText("Nothing is sent yet.").first().waitFor();

    await page.getByRole("textbox", { name: "URL" }).fill(receiver.webhookUrl);
    await page.getByRole("switch", { name: "Deployment success" }).click({ force: true });
    // The note of the first change may still be shown.
    const saved = page.waitForResponse(/notifications\.webhook\.update/);
    await page.getByRole("button", { name: "Save Webhook" }).click();
    await (await saved).finished();
    await page.getByText("Saved.").first().waitFor();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("Test notification sent.").first().waitFor();
    expect(receiver.received.at(-1)?.json).toMatchObject({ event: "test", success: true });

    const { uuid } = await createApplication(server, repository, { name });
    await deploy(server, uuid);
    await sent.getByRole("row", { name: new RegExp(`${name} .*Finished`) }).waitFor();
    expect(receiver.received.at(-1)?.json).toMatchObject({ event: "deployment_success", application_uuid: uuid });
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "notifications-sent");
    expect(complaints).toEqual([]);
    await close();
  });
});
