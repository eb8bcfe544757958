import { hasChromium, identityServer } from "@berth/testing";
import { Secret, TOTP } from "otpauth";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import {
  accessibilityProblems,
  expectNothingSticksOut,
  NARROW,
  openBrowser,
  PASSWORD,
  picture,
  settled,
  signIn,
  visit,
} from "./browser.fixture.ts";

describe.skipIf(!hasChromium)("signing in", () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    server = await testServer();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.dispose();
  });

  it("is drawn by scripts that browsers compile while they arrive", async () => {
    const page = await (await fetch(`${server.url}/sign-in`, { headers: { accept: "text/html" } })).text();
    const scripts = [...page.matchAll(/rel="modulepreload"[^>]*href="([^"]+\/(?:react|base)-[^"]+)"/g)].map(
      ([, path]) => path,
    );
    expect(scripts).toHaveLength(2);
    for (const path of scripts) {
      const script = await (await fetch(`${server.url}${path}`)).text();
      expect(script.startsWith("//# allFunctionsCalledOnLoad\n")).toBe(true);
    }
  });

  it("says at the password why it cannot be chosen, and takes another one", async () => {
    const { page, close } = await visit(browser, server.url);
    const { code } = await server.client.auth.createLink.mutate({});
    await page.goto(`/sign-in#code=${code}`);
    const password = page.getByLabel("Choose a password");
    await password.fill("short");
    await page.getByRole("button", { name: "Sign in" }).click();
    const problem = page.getByText("At least 12 characters.");
    await problem.waitFor();
    expect(await password.getAttribute("aria-describedby")).toContain(await problem.getAttribute("id"));
    expect(await page.getByRole("alert").count()).toBe(0);
    await password.fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await close();
  });

  it("asks for a code once an authenticator app was set up, and takes a recovery code instead", async () => {
    const { page, complaints, close } = await visit(browser, server.url, { scheme: "dark", width: NARROW });
    await signIn(page, server);
    await page.goto("/account");
    await settled(page);
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? "";
    await page.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "second-factor-setup");
    await page.getByRole("textbox", { name: "Code" }).fill(codeOf(secret));
    await page.getByRole("button", { name: "Turn it on" }).click();
    const codes = page.getByLabel("Recovery codes").locator("li");
    await codes.first().waitFor();
    expect(await codes.count()).toBe(10);
    expect(await accessibilityProblems(page)).toEqual([]);
    const recovery = (await codes.first().textContent()) ?? "";
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByText(/Recovery codes left: 10/).waitFor();
    await expectNothingSticksOut(page);

    await signOut(page);
    const { email } = await ownUser(server);
    await enterPassword(page, email);
    await page.getByRole("textbox", { name: "Code" }).fill("000000");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText(/This code is wrong/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "second-factor-code");
    await page.getByRole("textbox", { name: "Code" }).fill(recovery);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.goto("/account");
    await page.getByText(/Recovery codes left: 9/).waitFor();
    await page.getByRole("button", { name: "Turn it off" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Turn it off" }).click();
    await page.getByText(/Whoever knows your password can sign in/).waitFor();
    // Refused codes and passwords are errors to the browser.
    expect(complaints.filter((text) => !/status of 40[03]/.test(text))).toEqual([]);
    await close();
  });

  it("signs in and confirms with a passkey, which no code is asked for", async () => {
    // Browsers have passkeys for host names only.
    const url = server.url.replace("127.0.0.1", "localhost");
    const { page, complaints, close } = await visit(browser, url, { width: NARROW });
    await addDevice(page);
    await signIn(page, server);
    await page.goto("/account");
    await settled(page);
    const section = page.getByRole("region", { name: "Passkeys" });
    await section.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Laptop");
    await page.getByRole("button", { name: "Continue on this device" }).click();
    await section.getByText("Never").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await settled(page);
    await expectNothingSticksOut(page);
    await picture(page, "passkeys");
    await section.getByRole("button", { name: "Rename Laptop" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("Desk");
    await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
    await section.getByText("Desk").first().waitFor();

    await signOut(page);
    await settled(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "sign-in-passkey");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    // As if 16 minutes had passed since: the answer says so, and the page asks.
    await page.route(/auth\.secondFactor\.begin/, async (route) => {
      const response = await route.fetch({ headers: { ...route.request().headers(), "x-berth-session-key": "none" } });
      const [answer] = await response.json();
      answer.error.data.problem.code = "auth.confirmation_required";
      await route.fulfill({ status: 403, json: [answer] });
      await page.unroute(/auth\.secondFactor\.begin/);
    });
    await page.goto("/account");
    await settled(page);
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
    await dialog.getByRole("button", { name: "Use a passkey" }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "confirm-passkey");
    await dialog.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByText(/^[A-Z2-7]{32}$/).waitFor();
    await page.keyboard.press("Escape");

    await section.getByRole("button", { name: "Remove Desk" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await section.getByText("You have none.").waitFor();
    await signOut(page);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText(/This passkey was not accepted/).waitFor();
    expect(complaints.filter((text) => !/status of 40[013]/.test(text))).toEqual([]);
    await close();
  });

  it("lets who lacks a required second factor set it up, and then in", async () => {
    const { page, complaints, close } = await visit(browser, server.url);
    await signIn(page, server);
    await page.goto("/team/sign-in");
    await settled(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await expectNothingSticksOut(page);
    await picture(page, "team-sign-in");
    await page.getByRole("region", { name: "This team" }).getByLabel("Second factor required").check();
    await page.getByRole("button", { name: "Save team" }).click();
    await page.getByRole("heading", { name: "One more step" }).waitFor();
    await page.goto("/servers");
    await page.getByRole("heading", { name: "One more step" }).waitFor();
    await settled(page);
    expect(await accessibilityProblems(page)).toEqual([]);
    await picture(page, "second-factor-needed");
    await page.getByRole("button", { name: "Set up an authenticator app" }).click();
    const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? "";
    await page.getByRole("textbox", { name: "Code" }).fill(codeOf(secret));
    await page.getByRole("button", { name: "Turn it on" }).click();
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    const { id } = await server.client.teams.current.query();
    await server.client.teams.update.mutate({ id, second_factor_required: false });
    // What the pages asked for before they knew was refused.
    expect(complaints.filter((text) => !/status of 403|status of 207/.test(text))).toEqual([]);
    await close();
  });

  it("goes to a provider and back, and lets in who was invited", async () => {
    const provider = await identityServer();
    await server.stop();
    await server.start({ BERTH_PUBLIC_URL: server.url, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" });
    const { page, complaints, close } = await visit(browser, server.url);
    try {
      await server.client.identityProviders.create.mutate({
        ...{ name: "Example", kind: "oidc", issuer: provider.url, sign_up: "invited" },
        ...{ client_id: provider.clientId, client_secret: provider.clientSecret },
      });
      const { id } = await server.client.teams.current.query();
      await server.client.teams.members.add.mutate({ id, email: provider.person.email, role: "owner" });
      await page.goto("/sign-in?to=/account");
      await settled(page);
      await page.getByRole("button", { name: "Sign in with Example" }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await picture(page, "sign-in-provider");
      await page.getByRole("button", { name: "Sign in with Example" }).click();
      await page.getByRole("region", { name: "Sign-in elsewhere" }).getByText("ada@example.com").waitFor();
      await settled(page);
      expect(await accessibilityProblems(page)).toEqual([]);
      await picture(page, "account");
      await page.goto("/team/sign-in");
      await page.getByText(provider.url).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await picture(page, "identity-providers");
      await page.getByRole("button", { name: "Edit Example" }).click();
      const rules = page.getByLabel("Group roles");
      await rules.fill("developers in Nowhere as admin");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("One a line: GROUP in TEAM as ROLE. Teams: Root Team.").waitFor();
      await rules.fill("developers in Root Team as admin");
      await picture(page, "identity-provider-groups");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Saved.").waitFor();
      const [changed] = await server.client.identityProviders.list.query();
      expect(changed?.group_roles).toEqual([{ group: "developers", team_id: 0, role: "admin" }]);
      expect(complaints.filter((text) => !text.startsWith(provider.url))).toEqual([]);
    } finally {
      await close();
      await provider.close();
    }
  });
});

const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate();

async function ownUser({ client }: TestServer) {
  const [member] = await client.teams.members.listCurrent.query({});
  if (member === undefined) throw new Error("The team has no members.");
  return member;
}

/** A device with a fingerprint reader, which always recognises its user. */
async function addDevice(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
}

async function signOut(page: Page): Promise<void> {
  await page.evaluate("localStorage.clear()");
  await page.context().clearCookies();
  await page.goto("/sign-in");
}

async function enterPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}
