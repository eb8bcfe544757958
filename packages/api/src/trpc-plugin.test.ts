import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Example, type ExampleOptions, example } from "./example.fixture.ts";
import { sendWhole } from "./late-reader.fixture.ts";
import { BATCH_MAX } from "./trpc-plugin.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

function api(options?: ExampleOptions) {
  const it = example(options);
  open.push(it);
  return it;
}

const query = ({ app }: Example, path: string, input: unknown, token = "1|all") =>
  app.inject({
    url: `/trpc/${path}${input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`}`,
    headers: token ? { authorization: `Bearer ${token}` } : {},
  });
const mutate = ({ app }: Example, path: string, payload: unknown, token = "1|all") =>
  app.inject({
    ...{ method: "POST", url: `/trpc/${path}` },
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    payload: JSON.stringify(payload),
  });

describe("the same operations by tRPC", () => {
  it("answers what REST answers", async () => {
    const it = api();
    expect((await query(it, "notes.get", { uuid: "a" })).json().result.data).toMatchObject({ uuid: "a" });
    expect((await mutate(it, "notes.create", { title: "x" })).json().result.data).toMatchObject({ title: "x" });
    expect((await query(it, "health", undefined, "")).json().result.data).toBe("OK");
    expect(it.look.count).toBe(2);
  });

  it.each([
    ["an invalid input", "notes.create", { title: "", nope: 1 }, "1|all", 422, "request.invalid"],
    ["NUL", "notes.create", { title: "\0" }, "1|all", 422, "request.invalid"],
    ["no token", "notes.create", { title: "x" }, "", 401, "auth.unauthenticated"],
    ["a missing ability", "notes.create", { title: 1 }, "2|reader", 403, "auth.missing_ability"],
    ["a domain error", "notes.create", { title: "conflict" }, "1|all", 409, "domain.conflict"],
    ["a full queue", "notes.create", { title: "full" }, "1|all", 429, "queue.full"],
    ["an upload", "notes.attach", { uuid: "a" }, "1|all", 415, "request.unsupported_media_type"],
    ["an unknown procedure", "notes.nope", {}, "1|all", 404, "request.not_found"],
    ["a query that is posted", "notes.get", { uuid: "a" }, "1|all", 405, "request.method_not_allowed"],
  ])("refuses %s with REST's status and body", async (_, path, input, token, status, code) => {
    const response = await mutate(api(), path, input, token);
    const { data, message } = response.json().error;
    expect([response.statusCode, data.httpStatus, data.problem.code]).toEqual([status, status, code]);
    expect(data.problem).toMatchObject({ message, request_id: response.headers["x-request-id"] });
  });

  it("refuses more values than any operation reads, before they are parsed", async () => {
    const response = await mutate(api(), "notes.create", { title: Array(15_001).fill({}) });
    const { error } = response.json();
    expect([response.statusCode, error.data.problem.code]).toEqual([400, "request.malformed"]);
    expect(error).toMatchObject({ code: -32600, message: error.data.problem.message });
  });

  it.each(["/trpc/notes.create", "/api/v1/notes"])(
    "refuses a body beyond the limit with an answer also for a sender that listens only when all is sent (%s)",
    async (path) => {
      const { app } = api();
      await app.listen({ host: "127.0.0.1", port: 0 });
      const { port } = app.server.address() as AddressInfo;
      const head = [`POST ${path} HTTP/1.1`, "authorization: Bearer 1|all", "content-type: application/json"];
      const answer = await sendWhole(port, head, Buffer.alloc(20_000_000, "x"));
      const json = JSON.parse(answer.slice(answer.indexOf("{")));
      expect(answer).toMatch(/^HTTP\/1.1 413 /);
      expect((json.error?.data.problem ?? json).code).toBe("request.too_large");
    },
  );

  it("names the fields", async () => {
    const { problem } = (await mutate(api(), "notes.create", { nope: 1 })).json().error.data;
    expect(problem.errors).toEqual({ title: ["This field is required."], nope: ["This field is not allowed."] });
  });

  it("hides what broke from the caller and tells it the log", async () => {
    const it = api();
    const response = await query(it, "notes.get", { uuid: "broken" });
    expect([response.statusCode, response.json().error.message]).toEqual([500, "Server Error"]);
    expect(response.body).not.toMatch(/secret_table|stack|TypeError/);
    expect(it.faults).toMatchObject([{ operation: "notes.get", id: response.headers["x-request-id"] }]);
  });

  it("counts each call of a batch, and bounds them", async () => {
    const it = api({ requestsPerMinute: 100 });
    const batch = (calls: number) =>
      it.app.inject({
        url: `/trpc/${Array(calls).fill("notes.get").join(",")}?batch=1&input=${encodeURIComponent(
          JSON.stringify(Object.fromEntries(Array.from({ length: calls }, (_, i) => [i, { uuid: `u${i}` }]))),
        )}`,
        headers: { authorization: "Bearer 1|all" },
      });
    const ok = await batch(40);
    expect([ok.statusCode, ok.headers["x-ratelimit-remaining"], it.look.count]).toEqual([200, "60", 1]);
    // Counted and refused as one call.
    expect((await batch(BATCH_MAX + 1)).statusCode).toBe(400);
    expect((await batch(40)).headers["x-ratelimit-remaining"]).toBe("19");
    const over = await batch(40);
    expect([over.statusCode, over.json()[0].error.data.problem.code]).toEqual([429, "rate.limited"]);
    expect(Number(over.headers["retry-after"])).toBeGreaterThan(0);
  });

  it.each(["{", "[", "\0", '"'])("refuses %j as a body", async (payload) => {
    const response = await api().app.inject({
      ...{ method: "POST", url: "/trpc/notes.create", payload },
      headers: { "content-type": "application/json", authorization: "Bearer 1|all" },
    });
    expect([response.statusCode, response.json().error.data.problem.code]).toEqual([400, "request.malformed"]);
  });
});
