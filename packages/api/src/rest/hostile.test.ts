import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, type Example, example } from "../example.fixture.ts";

describe("hostile input", () => {
  let api: Example;
  beforeAll(() => {
    api = example();
  });
  afterAll(() => api.app.close());

  const invalid = (status: number, json: { message: string }) =>
    expect([status, json.message]).toEqual([422, "Validation failed."]);

  it.each([
    ["NUL in a body", "POST", "/notes", { title: "a\0b" }, "title"],
    ["NUL in a nested value", "POST", "/notes", { title: "x", labels: { a: "\0" } }, "labels.a"],
    ["NUL in a key", "POST", "/notes", { title: "x", labels: { "a\0": "b" } }, "labels.a\ufffd"],
    ["half a surrogate pair", "POST", "/notes", { title: "\ud800" }, "title"],
    ["the other half, as a key", "POST", "/notes", { title: "x", labels: { "\udc00": "b" } }, "labels.\ufffd"],
    ["NUL in a path", "PATCH", "/notes/a%00b", { title: "x" }, "uuid"],
    ["NUL in a query", "GET", "/notes?title=%00", undefined, "title"],
    ["NUL in the name of a query parameter", "DELETE", "/notes/a?a%00=1", undefined, "a\0"],
  ])("refuses %s by its field", async (_, method, path, body, field) => {
    const { status, json } = await ask(api, method, path, body === undefined ? {} : { body });
    invalid(status, json);
    expect(Object.keys(json.errors)).toEqual([field]);
  });

  it("changes no prototype", async () => {
    const headers = { "content-type": "application/json" };
    const refused = [
      '{"title":"x","__proto__":{"polluted":1}}',
      '{"title":"x","__proto__":{"size":5}}',
      '{"title":"x","__proto__":{}}',
      '{"title":"x","__proto__":null}',
      '{"title":"x","labels":{"__proto__":"y"}}',
      '{"title":"x","labels":{"__proto__":{"polluted":"y"}}}',
      '{"title":"x","constructor":{"prototype":{"polluted":1}}}',
    ];
    for (const text of refused) {
      const { status, json } = await ask(api, "POST", "/notes", { text, headers });
      invalid(status, json);
    }
    const { status, json } = await ask(api, "DELETE", "/notes/a?__proto__=1&constructor=2");
    invalid(status, json);
    expect("polluted" in {}).toBe(false);
  });

  it("takes keys of records that only look dangerous", async () => {
    const { status } = await ask(api, "POST", "/notes", {
      body: { title: "x", labels: { constructor: "a", toString: "b", prototype: "c" } },
    });
    expect(status).toBe(201);
  });

  it.each([
    ["lists", "[", "]"],
    ["objects", '{"labels":', "}"],
  ])("survives %s nested ten thousand deep", async (_, left, right) => {
    const text = `{"labels":${left.repeat(10_000)}1${right.repeat(10_000)}}`;
    const { status, json } = await ask(api, "POST", "/notes", {
      text,
      headers: { "content-type": "application/json" },
    });
    expect([status, json.message]).toEqual([400, "Invalid request."]);
  });

  it("answers a query of a thousand parameters and a path of 4,000 characters", async () => {
    const query = Array.from({ length: 1000 }, (_, i) => `x${i}=1`).join("&");
    expect((await ask(api, "GET", `/notes?${query}`)).status).toBe(200);
    expect((await ask(api, "DELETE", `/notes/a?${query}`)).status).toBe(422);
    expect((await ask(api, "GET", `/notes/${"a".repeat(4000)}`)).status).toBe(200);
    expect((await ask(api, "GET", `/notes/${"a".repeat(9000)}`)).status).toBe(400);
  });

  it("answers whatever it is sent with a documented status and the usual body", async () => {
    const anything = fc.oneof(fc.json(), fc.string(), fc.string({ unit: "binary" }), fc.object().map(jsonOf));
    const field = fc.oneof(fc.anything().map(jsonOf), fc.string({ unit: "binary" }).map(jsonOf));
    const objects = fc
      .tuple(fc.constantFrom("title", "size", "kind", "labels", "force", "parts", "__proto__", "uuid"), field)
      .map(([key, value]) => `{"title":"x","${key}":${value}}`);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ["POST", "/notes"],
          ["PATCH", "/notes/a"],
          ["DELETE", "/notes/a"],
          ["PATCH", "/notes/a/comments"],
        ),
        fc.oneof(objects, anything),
        async ([method = "", path = ""], text) => {
          const answer = await ask(api, method, path, { text, headers: { "content-type": "application/json" } });
          usual(answer);
        },
      ),
      { numRuns: 400 },
    );
    expect(api.faults).toEqual([]);
  });

  it("answers whatever it is asked for with a documented status and the usual body", async () => {
    const part = fc
      .oneof(fc.string(), fc.string({ unit: "binary" }))
      .map((text) => encodeURIComponent(text.toWellFormed()));
    const raw = fc.stringMatching(/^[!-~]{0,30}$/);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD"),
        fc.array(fc.oneof(part, raw), { maxLength: 3 }),
        fc.array(fc.tuple(fc.oneof(fc.constantFrom("take", "skip", "tag", "pinned"), part, raw), fc.oneof(part, raw)), {
          maxLength: 3,
        }),
        async (method, parts, query) => {
          const path = `/notes${parts.map((p) => `/${p}`).join("")}?${query.map(([k, v]) => `${k}=${v}`).join("&")}`;
          if (method === "GET" && /\/lines/.test(path)) return;
          usual(await ask(api, method, path));
        },
      ),
      { numRuns: 400 },
    );
    expect(api.faults).toEqual([]);
  });
});

function usual({ status, json, text }: { status: number; json: Record<string, unknown>; text: string }) {
  expect([200, 201, 204, 400, 404, 405, 409, 422, 429]).toContain(status);
  if (status < 400 || text === "") return;
  expect(json).toMatchObject({ message: expect.any(String), code: expect.any(String), request_id: expect.any(String) });
  if (status === 422)
    expect(
      Object.values(json.errors ?? {})
        .flat()
        .every((e) => typeof e === "string"),
    ).toBe(true);
}

const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return "null";
  }
};
