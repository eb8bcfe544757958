import type { WebhookResult } from "@berth/core/webhook";
import { type TestEvent, until, WEBHOOK_PAYLOADS, webhookDelivery } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  get,
  outcomeOf,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const SECRET = "correct horse battery staple";

const repository = temporaryRepository(plainServer("one"));
let server: TestServer;
let shop: Deployed;
/** Full name of the repository on GitHub. */
let name: string;
beforeAll(async () => {
  server = await testServer();
  shop = await createApplication(server, repository, {
    name: "shop",
    is_preview_deployments_enabled: true,
    manual_webhook_secret_github: SECRET,
  });
  const { body } = await server.rest("GET", `/applications/${shop.uuid}`);
  name = (body as { git_repository: string }).git_repository.replace("file:///", "");
});
afterAll(async () => {
  await server.dispose();
  repository.dispose();
});

async function deliver(event: TestEvent, secret = SECRET) {
  const { headers, body } = webhookDelivery("github", event, { secret });
  const answer = await fetch(`${server.url}/webhooks/source/github/events/manual`, { method: "POST", headers, body });
  return { status: answer.status, json: (await answer.json()) as WebhookResult[] };
}

it("reads a push of tens of thousands of files, in a thread of the built server", async () => {
  const files = Array.from({ length: 40_000 }, (_, at) => `src/some/folder/that/is/deep/file-${at}.ts`);
  const event = WEBHOOK_PAYLOADS.github.push({ repository: name, branch: "none", files });
  expect((await deliver(event, "wrong")).status).toBe(401);
  const { status, json } = await deliver(event);
  expect([status, json]).toEqual([200, [expect.objectContaining({ status: "skipped" })]]);
});

it("serves what was pushed, and a pull request beside it until it is closed", async () => {
  const { push, pullRequest } = WEBHOOK_PAYLOADS.github;
  const commit = repository.commit(plainServer("two"), "Say two");
  expect((await deliver(push({ repository: name, commit }), "wrong")).status).toBe(401);
  const { status, json } = await deliver(push({ repository: name, commit }));
  expect([status, json.map(({ message }) => message)]).toEqual([200, ["Deployment queued."]]);
  const outcome = await outcomeOf(server, json[0]?.deployment_uuid ?? "");
  expect([outcome.status, outcome.error], outcome.log).toEqual(["finished", null]);
  expect((await get(server, shop.host)).body).toBe("two");

  repository.git("checkout", "--quiet", "-b", "feature");
  const head = repository.commit(plainServer("three"), "Say three");
  repository.git("update-ref", "refs/pull/7/head", "HEAD");
  repository.git("checkout", "--quiet", "main");
  const opened = await deliver(pullRequest({ repository: name, commit: head }));
  expect((await outcomeOf(server, opened.json[0]?.deployment_uuid ?? "")).status).toBe("finished");
  const host = `7.${shop.host}`;
  expect([(await get(server, host)).body, (await get(server, shop.host)).body]).toEqual(["three", "two"]);

  const closed = await deliver(pullRequest({ repository: name, commit: head, action: "close" }));
  expect(closed.json).toMatchObject([{ status: "success", message: "Preview deployment closed." }]);
  await until(async () => (await get(server, host)).status === 404);
  expect((await get(server, shop.host)).body).toBe("two");
});
