import { request } from "node:http";
import { until } from "@berth/testing";
import { afterEach, describe, expect, test } from "vitest";
import { ask, type Example, example } from "./example.fixture.ts";
import { OPEN_CALLS } from "./open-calls.ts";

const apis: Example[] = [];
const gone: AbortController[] = [];
afterEach(async () => {
  for (const controller of gone.splice(0)) controller.abort();
  for (const { app } of apis.splice(0)) await app.close();
});

async function served() {
  const openCallLimits = { ...OPEN_CALLS, stream: { perToken: 2, perTeam: 3 }, upload: { perToken: 1, perTeam: 8 } };
  const api = example({ openCallLimits });
  apis.push(api);
  const url = await api.app.listen({ port: 0, host: "127.0.0.1" });
  async function open(path: string, token: string, init: RequestInit = {}) {
    const controller = new AbortController();
    gone.push(controller);
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const answer = await fetch(url + path, { ...init, headers, signal: controller.signal });
    return { status: answer.status, answer, close: () => controller.abort() };
  }
  return { ...api, url, open };
}
const REST = "/api/v1/notes/a/lines";
const TRPC = `/trpc/notes.follow?input=${encodeURIComponent(JSON.stringify({ uuid: "a" }))}`;

describe("open streams", () => {
  test.each([REST, TRPC])("of a token are limited, and those that end make room: %s", async (path) => {
    const { open, streams } = await served();
    const [first, second] = [await open(path, "1|all"), await open(path, "1|all")];
    expect([first.status, second.status]).toEqual([200, 200]);
    const third = await open(path, "1|all");
    // A subscription by tRPC is refused in its stream.
    expect(third.status).toBe(path === REST ? 429 : 200);
    expect(await third.answer.text()).toContain("Limit reached: at most 2 open streams of a token.");
    first.close();
    await until(() => streams.ended === 1);
    expect((await open(path, "1|all")).status).toBe(200);
  });

  test("of a team are limited, whatever its tokens", async () => {
    const { open } = await served();
    for (const token of ["1|all", "1|all", "2|reader"]) expect((await open(REST, token)).status).toBe(200);
    const more = await open(REST, "2|reader");
    expect([more.status, more.answer.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(await more.answer.text()).toContain("Limit reached: at most 3 open streams of a team.");
  });

  test("are counted for as long as they are open, and not when they are refused", async () => {
    const api = await served();
    for (let n = 0; n < 5; n++) {
      expect((await ask(api, "HEAD", "/notes/a/lines")).status).toBe(200);
      expect((await ask(api, "GET", "/notes/missing/lines")).status).toBe(404);
      expect((await ask(api, "GET", "/notes/a/lines?until=0")).status).toBe(200);
    }
  });
});

test("one upload of a token at a time, where that is the limit", async () => {
  const { url, open, inputs } = await served();
  const upload = () => open("/api/v1/notes/a/file", "1|all", { method: "POST", body: Buffer.from("x") });
  const slow = request(`${url}/api/v1/notes/a/file`, { method: "POST", headers: { authorization: "Bearer 1|all" } });
  const answered = new Promise<number | undefined>((resolve) =>
    slow.once("response", (answer) => resolve(answer.statusCode)),
  );
  slow.write("first half");
  await until(() => inputs.length === 1);
  await until(async () => (await upload()).status === 429, { seconds: 5 });
  slow.end("second half");
  expect(await answered).toBe(200);
  await until(async () => (await upload()).status === 200);
});
