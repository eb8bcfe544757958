import type { Mail } from "@berth/core/ports";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { OWN_PAGE, PASSWORD, person, request, signIn } from "./browser.fixture.ts";

let api: Served;
let mails: Mail[];
let sent: Promise<void>[];
beforeAll(async () => {
  api = await served({
    instanceUrl: "https://berth.example",
    mailer: {
      send: (make) =>
        void sent.push(
          make().then((mail) => {
            if (mail !== undefined) mails.push(mail);
          }),
        ),
    },
  });
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});
beforeEach(() => {
  mails = [];
  sent = [];
});

/** A request from the sign-in page, once all mail of it was made. */
async function requested(email: string) {
  const answer = await request(api, "POST", "/auth/links/request", { body: { email } });
  await Promise.all(sent);
  return answer;
}

const codeIn = (mail: Mail | undefined): string => /#code=(\S+)/.exec(mail?.text ?? "")?.[1] ?? "";
const redeemed = (code: string, password: string) =>
  request(api, "POST", "/auth/links/redeem", { body: { code, password } });

test("who forgot the password gets a link by mail, which signs in once and replaces it", async () => {
  const { email, browser } = await person(api);
  const answer = await requested(email);
  expect(answer.status).toBe(202);
  expect(mails).toMatchObject([{ to: email, text: expect.stringContaining("https://berth.example/sign-in#code=") }]);
  expect(JSON.stringify(answer.json)).not.toContain(codeIn(mails[0]));
  expect((await redeemed(codeIn(mails[0]), "another good passphrase")).status).toBe(201);
  expect((await redeemed(codeIn(mails[0]), "another good passphrase")).status).toBe(400);
  // Sessions that were opened with the old password end.
  expect((await browser.ask("GET", "/auth/session")).status).toBe(401);
  expect((await signIn(api, email)).status).toBe(400);
  expect((await signIn(api, email, "another good passphrase")).status).toBe(201);
});

test("an unknown address gets the same answer, and no mail", async () => {
  const { email } = await person(api);
  const [known, unknown] = [await requested(email), await requested("nobody@example.com")];
  expect(unknown.status).toBe(known.status);
  expect(unknown.json.message.replace("nobody@example.com", email)).toBe(known.json.message);
  expect(mails.map(({ to }) => to)).toEqual([email]);
});

test("one user gets at most three mails, and a caller who asks often must wait", async () => {
  const { email } = await person(api);
  for (let count = 0; count < 5; count++) expect((await requested(email)).status).toBe(202);
  expect(mails).toHaveLength(3);
  const answer = await requested(email);
  expect([answer.status, answer.json.code]).toEqual([429, "rate.limited"]);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
});

test("a page of another origin cannot ask for a link", async () => {
  const { email } = await person(api);
  const headers = { ...OWN_PAGE, origin: "http://evil.test", "sec-fetch-site": "cross-site" };
  const answer = await request(api, "POST", "/auth/links/request", { headers, body: { email } });
  expect([answer.status, answer.json.code]).toEqual([403, "auth.foreign_page"]);
  expect(sent).toEqual([]);
});

test("who is added to a team gets an invitation by mail, and chooses a password", async () => {
  const { teamId, browser } = await person(api);
  const body = { email: "grace@example.com" };
  const added = await browser.ask("POST", `/teams/${teamId}/members`, body);
  await Promise.all(sent);
  expect(added.status).toBe(201);
  expect(mails).toMatchObject([{ to: "grace@example.com", subject: "You are invited to the team Own" }]);
  expect(JSON.stringify(added.json)).not.toContain(codeIn(mails[0]));
  expect((await redeemed(codeIn(mails[0]), PASSWORD)).status).toBe(201);
});

test("a token that may only write mails no link to an address of its choice", async () => {
  const token = await api.tokenWith("read", "write");
  const { team_id } = api.place.server;
  const added = await api.ask("POST", `/teams/${team_id}/members`, { token, body: { email: "eve@example.com" } });
  await Promise.all(sent);
  expect(added.status).toBe(201);
  expect(mails).toEqual([]);
});

test("without a mail server everybody gets the same refusal", async () => {
  const without = await served();
  try {
    const ask = (email: string) => request(without, "POST", "/auth/links/request", { body: { email } });
    const { email } = await person(without);
    const [known, unknown] = [await ask(email), await ask("nobody@example.com")];
    expect((await request(without, "GET", "/auth/methods")).json).toEqual({ mailed_link: false });
    expect((await request(api, "GET", "/auth/methods")).json).toEqual({ mailed_link: true });
    expect(known.json).toMatchObject({ code: "resource.state", message: expect.stringContaining("sends no mail") });
    expect([unknown.status, unknown.json.message]).toEqual([known.status, known.json.message]);
  } finally {
    await without.close();
  }
});
