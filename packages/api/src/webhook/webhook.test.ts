import type { WebhookProvider } from "@berth/core/webhook";
import {
  assertTook,
  contents,
  emptyTables,
  type TestDelivery,
  type TestEvent,
  type TestPullRequest,
  type TestPush,
  testGithubApp,
  took,
  WEBHOOK_PAYLOADS,
  webhookDelivery,
} from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "../berth.fixture.ts";

const PROVIDERS = ["github", "gitlab", "bitbucket", "gitea"] as const;
const SECRET = "correct horse battery staple";
const COMMIT = "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterEach(async () => {
  await emptyTables(api.db.url, ["resource", "github_app", "webhook_delivery", "event"]);
  await setQueueLimit(25);
});
afterAll(() => api.close());

async function deliver(path: string, { headers, body }: TestDelivery) {
  const response = await api.app.inject({
    method: "POST",
    url: `/webhooks/source/${path}`,
    headers,
    payload: Buffer.from(body),
  });
  const isJson = /json/.test(String(response.headers["content-type"]));
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json: isJson ? response.json() : undefined,
  };
}

interface DeliveryOptions {
  readonly secret?: string;
  readonly id?: string;
  readonly isForm?: boolean;
}

const send = (provider: WebhookProvider, event: TestEvent, { secret = SECRET, ...rest }: DeliveryOptions = {}) =>
  deliver(`${provider}/events/manual`, webhookDelivery(provider, event, { secret, ...rest }));

const push = (provider: WebhookProvider, told: TestPush = {}, options: DeliveryOptions = {}) =>
  send(provider, WEBHOOK_PAYLOADS[provider].push(told), options);

const pullRequest = (provider: WebhookProvider, told: TestPullRequest = {}, options: DeliveryOptions = {}) =>
  send(provider, WEBHOOK_PAYLOADS[provider].pullRequest(told), options);

const secretOf = (provider: WebhookProvider, secret: string | null = SECRET) => ({
  [`manual_webhook_secret_${provider}`]: secret,
});

const made = (provider: WebhookProvider, fields: object = {}) =>
  createdApplication(api, { ...secretOf(provider), ...fields });

const deploymentsOf = async (uuid: string) =>
  (await api.ask("GET", `/deployments/applications/${uuid}`)).json.deployments;

test("a system hook of GitLab without a secret is answered, and does nothing", async () => {
  const uuid = await made("gitlab");
  const { headers, body } = webhookDelivery("gitlab", WEBHOOK_PAYLOADS.gitlab.push({}), { secret: SECRET });
  const { "x-gitlab-token": token, ...unsigned } = headers;
  expect(token).toBe(SECRET);
  const hook = await deliver("gitlab/events/manual", {
    headers: { ...unsigned, "x-gitlab-event": "System Hook" },
    body,
  });
  expect([hook.status, hook.json]).toEqual([200, [{ status: "skipped", message: expect.any(String) }]]);
  expect(await deploymentsOf(uuid)).toEqual([]);
  expect((await deliver("gitlab/events/manual", { headers: unsigned, body })).status).toBe(401);
});

test("a system hook of GitLab deploys what shares its secret, and is answered where nothing does", async () => {
  const uuid = await made("gitlab");
  const sent = (secret: string, event: object = {}) => {
    const { headers, body } = webhookDelivery("gitlab", WEBHOOK_PAYLOADS.gitlab.push({}), { secret });
    return deliver("gitlab/events/manual", { headers: { ...headers, ...event }, body });
  };
  const hook = { "x-gitlab-event": "System Hook" };
  const other = await sent("another secret", hook);
  expect([other.status, other.json]).toEqual([200, [{ status: "skipped", message: expect.any(String) }]]);
  expect(await deploymentsOf(uuid)).toEqual([]);
  expect((await sent("another secret")).status).toBe(401);
  expect((await sent(SECRET, hook)).json).toMatchObject([{ application_uuid: uuid, status: "queued" }]);
});

const setQueueLimit = (deployment_queue_limit: number) =>
  api.ask("PATCH", `/servers/${api.where.server_uuid}`, { body: { deployment_queue_limit } });

/** All tables, except for what every request changes. */
const everything = () => contents(api.db, ["token"]);

describe.each(PROVIDERS)("a push at %s", (provider) => {
  test("[S03] deploys the commit of the application that follows the branch", async () => {
    const uuid = await made(provider);
    const { status, json } = await push(provider);
    expect(status).toBe(200);
    expect(json).toEqual([
      {
        application: expect.any(String),
        application_uuid: uuid,
        application_name: expect.any(String),
        status: "queued",
        message: "Deployment queued.",
        deployment_uuid: expect.any(String),
      },
    ]);
    const [deployment] = await deploymentsOf(uuid);
    expect(deployment).toMatchObject({
      deployment_uuid: json[0].deployment_uuid,
      status: "queued",
      commit: COMMIT,
      pull_request_id: 0,
      is_webhook: true,
      is_api: false,
      git_type: provider,
    });
    expect(api.faults).toEqual([]);
  });

  test.each([
    ["another secret", (delivery: TestDelivery) => delivery, "another secret"],
    ["another body than was signed", (delivery: TestDelivery) => ({ ...delivery, body: `${delivery.body} ` }), SECRET],
    ["no signature", (delivery: TestDelivery) => ({ ...delivery, headers: unsigned(delivery.headers) }), SECRET],
    ["an empty signature", (delivery: TestDelivery) => ({ ...delivery, headers: emptied(delivery.headers) }), SECRET],
  ])("with %s gets 401, and nothing happens", async (what, change, secret) => {
    // GitLab sends the secret itself, which authenticates the sender but not the content.
    if (provider === "gitlab" && what.startsWith("another body")) return;
    const uuid = await made(provider);
    const before = await everything();
    const delivery = webhookDelivery(provider, WEBHOOK_PAYLOADS[provider].push(), { secret });
    const { status, json } = await deliver(`${provider}/events/manual`, change(delivery));
    expect([status, json.message, json.code]).toEqual([401, "Invalid signature.", "webhook.unsigned"]);
    expect(await deploymentsOf(uuid)).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test.each([[null], [""]])("for an application whose secret is %j gets 401, and nothing happens", async (secret) => {
    const uuid = await made(provider, secretOf(provider, secret));
    for (const guess of ["", "null", "undefined"]) {
      expect((await push(provider, {}, { secret: guess })).status).toBe(401);
    }
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("signed with the secret for another host gets 401", async () => {
    const other = PROVIDERS.find((one) => one !== provider) ?? "github";
    const uuid = await made(other);
    expect((await push(provider)).status).toBe(401);
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("that comes again is answered from the first time, also when it says something else", async () => {
    const uuid = await made(provider);
    const first = await push(provider, {}, { id: "one-and-the-same" });
    const again = await push(provider, { commit: "a".repeat(40) }, { id: "one-and-the-same" });
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
    expect((await push(provider, {}, { id: "one-and-the-same", secret: "wrong" })).status).toBe(401);
  });

  test("that comes again after its deployment has ended deploys anew where a person asks for that", async () => {
    const uuid = await made(provider);
    const first = await push(provider, {}, { id: "by-hand" });
    const application = await api.stores.applications.find(uuid);
    const claim = await api.db.system.deployments.claimNext({ owner: "me", leaseSeconds: 60 }, [
      application?.server_id ?? 0,
    ]);
    if (claim === undefined) throw new Error("It was queued above.");
    expect((await push(provider, {}, { id: "by-hand" })).json).toEqual(first.json);
    await api.db.system.deployments.finish(claim.lease, "failed", "The registry was away.");
    const again = await push(provider, {}, { id: "by-hand" });
    if (provider === "github" || provider === "gitea") {
      expect(again.json).toMatchObject([{ status: "queued" }]);
      expect(again.json[0].deployment_uuid).not.toBe(first.json[0].deployment_uuid);
      expect((await push(provider, {}, { id: "by-hand" })).json).toEqual(again.json);
    } else expect(again.json).toEqual(first.json);
  });

  test("[S70] gets 429 and Retry-After when the queue is full, and may come again", async () => {
    const uuid = await made(provider);
    await setQueueLimit(1);
    await push(provider, { commit: "a".repeat(40) });
    const full = await push(provider, {}, { id: "again" });
    expect([full.status, full.headers["retry-after"], full.json.code]).toEqual([429, "60", "queue.full"]);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
    await setQueueLimit(2);
    const again = await push(provider, {}, { id: "again" });
    expect([again.status, again.json[0].status]).toEqual([200, "queued"]);
  });

  test.each([
    ["of another branch", { branch: "next" }, {}],
    ["that removed the branch", { isDeleted: true }, {}],
    ["with automatic deployments off", {}, { is_auto_deploy_enabled: false }],
    ["that asks for no deployment", { messages: ["Typo [skip ci]", "More [skip cd]"] }, {}],
  ])("%s deploys nothing", async (_, told, fields) => {
    const uuid = await made(provider, fields);
    const { status, json } = await push(provider, told);
    expect([status, json[0].status]).toEqual([200, "skipped"]);
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("is answered alike for a repository that no application has, and for a wrong secret", async () => {
    await made(provider);
    const unknown = await push(provider, { repository: "team/unknown" });
    const wrong = await push(provider, {}, { secret: "wrong" });
    const { request_id: _one, ...unknownAnswer } = unknown.json;
    const { request_id: _two, ...wrongAnswer } = wrong.json;
    expect([unknown.status, wrong.status]).toEqual([401, 401]);
    expect(unknownAnswer).toEqual(wrongAnswer);
  });

  test("for a repository whose name only holds the application's deploys nothing", async () => {
    const uuid = await made(provider);
    await push(provider, { repository: "team/hello-world" });
    await push(provider, { repository: "other-team/hello" });
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("never answers or records a secret", async () => {
    await made(provider, { manual_webhook_secret_github: SECRET });
    const answers = [await push(provider), await push(provider, {}, { secret: `${SECRET}!` })];
    const recorded = [await api.stores.events.list({}), await api.ask("GET", "/deployments")];
    expect(JSON.stringify([...answers, ...recorded])).not.toContain(SECRET);
  });
});

const SIGNATURES = ["x-hub-signature-256", "x-hub-signature", "x-gitlab-token"];
const unsigned = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !SIGNATURES.includes(name)));
const emptied = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, SIGNATURES.includes(name) ? "" : value]));

describe("a push", () => {
  test("in a form is read from its field, and signed as the form", async () => {
    const uuid = await made("github");
    const { status } = await push("github", { messages: ["Umlaut ä & ampersand + plus"] }, { isForm: true });
    expect(status).toBe(200);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
    const { headers, body } = webhookDelivery("github", WEBHOOK_PAYLOADS.github.push(), {
      secret: SECRET,
      isForm: true,
    });
    // The signature of the whole body is wrong, although the payload is found behind another field.
    expect((await deliver("github/events/manual", { headers, body: `a=b&${body}` })).status).toBe(401);
  });

  test.each(["sha1=", "sha512=", ""])("signed as %s gets 401", async (algorithm) => {
    await made("github");
    const { headers, body } = webhookDelivery("github", WEBHOOK_PAYLOADS.github.push(), { secret: SECRET });
    const hex = headers["x-hub-signature-256"]?.slice("sha256=".length) ?? "";
    const { status } = await deliver("github/events/manual", {
      body,
      headers: { ...headers, "x-hub-signature-256": `${algorithm}${hex}` },
    });
    expect(status).toBe(401);
  });

  test("deploys every application of the repository that shares the secret, in each team, and no other", async () => {
    const own = await made("github");
    const second = await made("github", { git_repository: "git@git.example:Team/Hello.git" });
    const elsewhere = await made("github", { manual_webhook_secret_github: "other secret" });
    const theirs = await createdApplication(
      {
        ...api,
        where: api.otherTeam.where,
        ask: (method, path, options) => api.ask(method, path, { token: api.otherTeam.token, ...options }),
      },
      secretOf("github"),
    );
    const { json } = await push("github");
    expect(json.map(({ application_uuid }: { application_uuid: string }) => application_uuid)).toEqual([
      own,
      second,
      theirs,
    ]);
    expect(await deploymentsOf(elsewhere)).toEqual([]);
    const { json: list } = await api.ask("GET", `/deployments/applications/${theirs}`, { token: api.otherTeam.token });
    expect(list.deployments[0]).toMatchObject({ status: "queued", commit: COMMIT });
  });

  test("[S70] deploys none of several applications when one finds the queue full", async () => {
    const uuids = [await made("github"), await made("github"), await made("github")];
    await setQueueLimit(2);
    const { status, headers } = await push("github");
    expect([status, headers["retry-after"]]).toEqual([429, "60"]);
    for (const uuid of uuids) expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("[S72] never queues more than the limit, however many come at once", async () => {
    const uuid = await made("github");
    await setQueueLimit(3);
    const commits = [..."1234567890"].map((digit) => `a${digit}`.repeat(20));
    const answers = await Promise.all(commits.map((commit) => push("github", { commit })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    expect(await deploymentsOf(uuid)).toHaveLength(3);
  });

  test("that comes several times at once is done once, and answered alike", async () => {
    const uuid = await made("github");
    const answers = await Promise.all(Array.from({ length: 8 }, () => push("github", {}, { id: "same" })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
  });

  test("with an identifier that another team's delivery had is a delivery of its own", async () => {
    await made("github");
    const other = await made("github", { manual_webhook_secret_github: "other secret" });
    await push("github", {}, { id: "same" });
    const { json } = await push("github", {}, { id: "same", secret: "other secret" });
    expect(json[0]).toMatchObject({ application_uuid: other, status: "queued" });
  });

  test("of a commit that waits already names the deployment that waits", async () => {
    const uuid = await made("github");
    const first = await push("github");
    const again = await push("github");
    expect(again.json[0]).toMatchObject({ status: "skipped", deployment_uuid: first.json[0].deployment_uuid });
    expect(await deploymentsOf(uuid)).toHaveLength(1);
  });

  test("is deployed only where its files are watched, and says why not", async () => {
    const [web, docs] = [
      await made("github", { watch_paths: "src/**" }),
      await made("github", { watch_paths: "docs/**" }),
    ];
    const { json } = await push("github", { files: ["src/a.ts"] });
    expect(json).toMatchObject([
      { application_uuid: web, status: "queued" },
      { application_uuid: docs, status: "skipped", details: { changed_files: ["src/a.ts"], watch_paths: "docs/**" } },
    ]);
  });

  test.each([
    ["no JSON", "application/json", "{"],
    ["no object", "application/json", "[]"],
    ["no repository", "application/json", '{"ref":"refs/heads/main"}'],
    ["a form without a payload", "application/x-www-form-urlencoded", "a=b"],
    ["broken text", "application/json", '{"a":"\xff"}'],
  ])("that is %s gets 400", async (_, type, body) => {
    const { headers } = webhookDelivery("github", { event: "push", payload: {} }, { secret: SECRET });
    const { status, json } = await deliver("github/events/manual", {
      headers: { ...headers, "content-type": type },
      body,
    });
    expect([status, json.code]).toEqual([400, "request.malformed"]);
    expect(api.faults).toEqual([]);
  });

  test.each([
    ["JSON of brackets", "application/json", `{"a":[${"{},".repeat(8_000_000)}{}]}`],
    ["a form of fields", "application/x-www-form-urlencoded", "a&".repeat(12_000_000)],
    ["a form of brackets", "application/x-www-form-urlencoded", `payload=[${"[],".repeat(8_000_000)}[]]`],
  ])("that is %s is refused before it fills the memory", async (_, type, body) => {
    const { headers } = webhookDelivery("github", { event: "push", payload: {} }, { secret: SECRET });
    const refused = async () => {
      const { status } = await deliver("github/events/manual", { headers: { ...headers, "content-type": type }, body });
      expect(status).toBe(400);
    };
    // Parsing the bodies completely would take several times as long.
    await assertTook(await took(refused), 4000);
  });

  test("that is no JSON and no form gets 415", async () => {
    const { headers, body } = webhookDelivery("github", WEBHOOK_PAYLOADS.github.push(), { secret: SECRET });
    const { status } = await deliver("github/events/manual", {
      headers: { ...headers, "content-type": "text/xml" },
      body,
    });
    expect(status).toBe(415);
  });

  test("larger than GitHub's own limit gets 413, and a large one below it is read", async () => {
    const uuid = await made("github");
    const files = Array.from({ length: 60_000 }, (_, n) => `src/some/folder/that/is/deep/file-${n}.ts`);
    expect((await push("github", { files })).status).toBe(200);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
    const { headers } = webhookDelivery("github", WEBHOOK_PAYLOADS.github.push(), { secret: SECRET });
    const { status, json } = await deliver("github/events/manual", { headers, body: " ".repeat(26_214_401) });
    expect([status, json.code]).toEqual([413, "request.too_large"]);
  });
});

describe.each(PROVIDERS)("a pull request at %s", (provider) => {
  const previews = { is_preview_deployments_enabled: true };

  test("is deployed beside the application", async () => {
    const uuid = await made(provider, previews);
    const { json } = await pullRequest(provider);
    expect(json).toMatchObject([{ application_uuid: uuid, status: "queued", pull_request_id: 7 }]);
    const [deployment] = await deploymentsOf(uuid);
    expect(deployment).toMatchObject({ pull_request_id: 7, git_type: provider, is_webhook: true });
    expect(COMMIT.startsWith(deployment.commit)).toBe(true);
    // A preview must not start the application itself.
    expect((await api.stores.applications.find(uuid))?.desired_state).toBe("stopped");
  });

  test.each([
    ["into another branch", { base: "next" }, previews],
    ["with previews off", {}, {}],
    ["from the public", { isPublic: true }, previews],
  ])("%s deploys nothing", async (_, told, fields) => {
    const uuid = await made(provider, fields);
    const { status, json } = await pullRequest(provider, told);
    expect([status, json[0].status]).toEqual([200, "skipped"]);
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("that failed is done when its delivery is repeated, once what was in the way is gone", async () => {
    const host = `${provider}-taken.example`;
    const uuid = await made(provider, { ...previews, domains: `https://${host}` });
    const other = await createdApplication(api, { domains: `https://7.${host}` });
    const failed = await pullRequest(provider, {}, { id: "taken" });
    expect(failed.json).toMatchObject([{ status: "failed", message: expect.stringContaining("is taken") }]);
    expect((await pullRequest(provider, {}, { id: "taken" })).json).toEqual(failed.json);
    await api.ask("PATCH", `/applications/${other}`, { body: { domains: "" } });
    const again = await pullRequest(provider, {}, { id: "taken" });
    expect(again.json).toMatchObject([{ status: "queued", application_uuid: uuid, pull_request_id: 7 }]);
    expect((await pullRequest(provider, {}, { id: "taken" })).json).toEqual(again.json);
    expect(await deploymentsOf(uuid)).toHaveLength(1);
  });

  test("from the public is deployed where that is allowed", async () => {
    const uuid = await made(provider, { ...previews, is_pr_deployments_public_enabled: true });
    await pullRequest(provider, { isPublic: true });
    expect(await deploymentsOf(uuid)).toHaveLength(1);
  });

  test("that is closed without a preview changes nothing", async () => {
    await made(provider, previews);
    const { json } = await pullRequest(provider, { action: "close" });
    expect(json).toMatchObject([{ status: "skipped", message: "No preview deployment to close." }]);
  });

  test("whose commit is deployed is not deployed again for a new title, but for a new commit", async () => {
    if (provider === "github" || provider === "gitea") return; // These hosts report new commits only.
    const uuid = await made(provider, previews);
    await pullRequest(provider);
    const running = await api.db.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 });
    if (running === undefined) throw new Error("It was queued above.");
    await api.db.system.deployments.saveCommit(running.lease, COMMIT, null);
    await api.db.system.deployments.finish(running.lease, "finished", null);
    const titled = await pullRequest(provider, { action: "update" });
    expect(titled.json).toMatchObject([{ status: "skipped", message: "This commit is already deployed." }]);
    const pushed = await pullRequest(provider, { action: "update", commit: "b".repeat(40) });
    expect(pushed.json).toMatchObject([{ status: "queued" }]);
    expect(await deploymentsOf(uuid)).toHaveLength(2);
  });

  test("that is closed has its deployments cancelled and its preview removed, and leaves the others", async () => {
    const uuid = await made(provider, previews);
    await push(provider);
    await pullRequest(provider);
    await pullRequest(provider, { number: 8 });
    const { json } = await pullRequest(provider, { action: "close" });
    expect(json).toMatchObject([{ status: "success", pull_request_id: 7, message: "Preview deployment closed." }]);
    const states = (await deploymentsOf(uuid)).map(
      ({ pull_request_id, status }: { pull_request_id: number; status: string }) => [pull_request_id, status],
    );
    expect(states).toEqual([
      [8, "queued"],
      [7, "cancelled-by-user"],
      [0, "queued"],
    ]);
    const { id } = (await api.stores.applications.find(uuid)) ?? { id: 0 };
    expect((await api.stores.previews.find(id, 7))?.removing_at).toBeInstanceOf(Date);
    expect((await api.stores.previews.find(id, 8))?.removing_at).toBeNull();
  });

  test("[S70] gets 429 when the queue is full, and leaves no preview", async () => {
    const uuid = await made(provider, previews);
    await setQueueLimit(1);
    await push(provider);
    const { status, headers } = await pullRequest(provider);
    expect([status, headers["retry-after"]]).toEqual([429, "60"]);
    const { id } = (await api.stores.applications.find(uuid)) ?? { id: 0 };
    expect((await api.stores.previews.list(id)).total).toBe(0);
  });
});

describe("a ping", () => {
  test.each(["github/events", "github/events/manual", "gitea/events/manual"])(
    "to %s is answered with pong",
    async (path) => {
      const event = path.startsWith("gitea") ? "x-gitea-event" : "x-github-event";
      const headers = { "content-type": "application/json", [event]: "ping" };
      const { status, text, headers: answered } = await deliver(path, { headers, body: '{"zen":"Keep it simple."}' });
      expect([status, text, answered["content-type"]]).toEqual([200, "pong", "text/plain; charset=utf-8"]);
    },
  );
});

describe("an event of a GitHub app", () => {
  const APP = 4711;
  let appId: number;
  let uuid: string;
  beforeEach(async () => {
    const app = await testGithubApp(api.stores, { app_id: APP, secrets: { webhook_secret: SECRET } });
    appId = app.id;
    const body = {
      ...api.where,
      github_app_uuid: app.uuid,
      git_repository: "team/hello",
      git_branch: "main",
      build_pack: "nixpacks",
    };
    uuid = (await api.ask("POST", "/applications/private-github-app", { body })).json.uuid;
  });

  async function toApp(event: TestEvent, { secret = SECRET, target = String(APP) } = {}) {
    const delivery = webhookDelivery("github", event, { secret });
    const headers = { ...delivery.headers, "x-github-hook-installation-target-id": target };
    return deliver("github/events", { ...delivery, headers });
  }

  test("deploys a push by the repository's number, also under another name", async () => {
    const told = { repositoryId: 11, repository: "team/renamed" };
    const { status, json } = await toApp(WEBHOOK_PAYLOADS.github.push(told));
    expect([status, json[0].status, json[0].application_uuid]).toEqual([200, "queued", uuid]);
    expect((await deploymentsOf(uuid))[0]).toMatchObject({ commit: COMMIT, git_type: "github" });
  });

  test("deploys nothing for another repository of the same name", async () => {
    const { status, json } = await toApp(WEBHOOK_PAYLOADS.github.push({ repositoryId: 99 }));
    expect([status, json[0].status]).toEqual([200, "skipped"]);
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test("with another secret gets 401, and nothing happens", async () => {
    const { status } = await toApp(WEBHOOK_PAYLOADS.github.push({ repositoryId: 11 }), { secret: "wrong" });
    expect(status).toBe(401);
    expect(await deploymentsOf(uuid)).toEqual([]);
  });

  test.each(["1", "", "x", "1e99", "-1"])("for the unknown app %j is answered like a wrong secret", async (target) => {
    const { status, json } = await toApp(WEBHOOK_PAYLOADS.github.push({ repositoryId: 11 }), { target });
    expect([status, json.message]).toEqual([401, "Invalid signature."]);
    expect(await deploymentsOf(uuid)).toEqual([]);
    expect(api.faults).toEqual([]);
  });

  test("of another kind leads to nothing", async () => {
    const { status, json } = await toApp({ event: "installation", payload: { action: "created" } });
    expect([status, json[0].status]).toEqual([200, "skipped"]);
  });

  test("is not deployed by the application's own secret, nor the other way round", async () => {
    await api.ask("PATCH", `/applications/${uuid}`, { body: { manual_webhook_secret_github: "own secret" } });
    expect((await push("github", { repositoryId: 11 }, { secret: "own secret" })).status).toBe(401);
    const plain = await made("github", { git_repository: "https://github.com/team/hello" });
    await toApp(WEBHOOK_PAYLOADS.github.push({ repositoryId: 11 }));
    expect(await deploymentsOf(plain)).toEqual([]);
    expect(appId).toBeGreaterThan(0);
  });
});
