import { afterEach, describe, expect, it } from "vitest";
import { ask, type Example, example } from "../example.fixture.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

function api() {
  const it = example();
  open.push(it);
  return it;
}

const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

describe("bodies", () => {
  it.each([
    ["no content type", { text: '{"title":"x"}' }, "Content-Type must be application/json."],
    ["a form", { text: "title=x", headers: FORM_TYPE }, "Content-Type must be application/json."],
    [
      "a content type that is none",
      { text: "{}", headers: { "content-type": "nonsense" } },
      "Content-Type must be application/json.",
    ],
    ["nothing at all", {}, "Content-Type must be application/json."],
    ["nothing, called JSON", { text: "", headers: JSON_TYPE }, "Invalid JSON."],
    ["half of an object", { text: '{"title":', headers: JSON_TYPE }, "Invalid JSON."],
    ["a list", { text: '[{"title":"x"}]', headers: JSON_TYPE }, "Invalid JSON."],
    ["null", { text: "null", headers: JSON_TYPE }, "Invalid JSON."],
    ["a number", { text: "0", headers: JSON_TYPE }, "Invalid JSON."],
    ["a text", { text: '"title"', headers: JSON_TYPE }, "Invalid JSON."],
    [
      "bytes that are not UTF-8",
      { text: Buffer.from('{"title":"\xff"}', "latin1"), headers: JSON_TYPE },
      "Invalid JSON.",
    ],
    ["an object without fields", { text: "{}", headers: JSON_TYPE }, "Empty JSON."],
    [
      "more values than any operation reads",
      { text: `{"title":[${"{},".repeat(15_000)}{}]}`, headers: JSON_TYPE },
      "Invalid JSON. Has more than 15000 values.",
    ],
  ])("refuses %s", async (_, sent, error) => {
    const { status, json } = await ask(api(), "POST", "/notes", sent);
    expect([status, json]).toEqual([
      400,
      { message: "Invalid request.", error, code: "request.malformed", request_id: expect.any(String) },
    ]);
  });

  it.each(["application/json", "application/json; charset=utf-8", "application/merge-patch+json", "text/json"])(
    "reads %s",
    async (type) => {
      const { status } = await ask(api(), "POST", "/notes", {
        text: '{"title":"x"}',
        headers: { "content-type": type },
      });
      expect(status).toBe(201);
    },
  );

  it("asks actions for no body, and takes none of theirs for what it is not", async () => {
    const it = api();
    expect((await ask(it, "POST", "/notes/a/send")).status).toBe(200);
    expect((await ask(it, "POST", "/notes/a/send", { text: "", headers: FORM_TYPE })).status).toBe(200);
    expect((await ask(it, "POST", "/notes/a/send", { text: "{}", headers: JSON_TYPE })).status).toBe(200);
    expect((await ask(it, "POST", "/notes/a/send", { text: "times=2", headers: FORM_TYPE })).status).toBe(400);
  });

  it("reads the flags of a DELETE from its query or its body, and refuses what contradicts or is unknown", async () => {
    const it = api();
    expect((await ask(it, "DELETE", "/notes/a", { body: { keep_files: false } })).status).toBe(204);
    expect((await ask(it, "DELETE", "/notes/a?keep_files=no", { body: { keep_files: false } })).status).toBe(204);
    expect((await ask(it, "DELETE", "/notes/a?keep_files=0")).status).toBe(204);
    expect(it.inputs).toEqual(Array(3).fill({ uuid: "a", keep_files: false }));
    const contradiction = await ask(it, "DELETE", "/notes/a?keep_files=false", { body: { keep_files: true } });
    expect([contradiction.status, contradiction.json.errors]).toEqual([
      422,
      { keep_files: ["Must be the same in the query and the body."] },
    ]);
    for (const [body, field] of [
      [{ keep_all: true }, "keep_all"],
      [{ uuid: "b" }, "uuid"],
      [{ keep_files: "perhaps" }, "keep_files"],
    ] as const) {
      const { status, json } = await ask(it, "DELETE", "/notes/a", { body });
      expect([status, Object.keys(json.errors)]).toEqual([422, [field]]);
    }
    expect(it.inputs).toHaveLength(3);
  });

  it("refuses a body beyond the limit", async () => {
    const { status, json } = await ask(api(), "POST", "/notes", { body: { title: "x".repeat(1_100_000) } });
    expect([status, json.code]).toEqual([413, "request.too_large"]);
  });

  it("is as strict with JSON after requests with a query as before", async () => {
    const it = api();
    await ask(it, "GET", "/notes?take=5&pinned=1");
    await ask(it, "GET", "/notes/a/send?times=3");
    const { status, json } = await ask(it, "PATCH", "/notes/a", { body: { pinned: "true" } });
    expect([status, json.errors]).toEqual([422, { pinned: ["Must be true or false."] }]);
  });
});

describe("fields", () => {
  it("says of each what is wrong with it, unknown ones included, in one answer", async () => {
    const body = {
      size: 200,
      kind: "odd",
      nope: 1,
      labels: { a: 1 },
      parts: [{ name: "x" }, { nam: "y" }],
      force: null,
    };
    const { status, json } = await ask(api(), "POST", "/notes", { body });
    expect([status, json]).toEqual([
      422,
      {
        message: "Validation failed.",
        code: "request.invalid",
        request_id: expect.any(String),
        errors: {
          title: ["This field is required."],
          size: ["Must be at most 100."],
          kind: ["Must be one of: plain, rich."],
          "labels.a": ["Must be a text."],
          "parts.1.name": ["This field is required."],
          "parts.1.nam": ["This field is not allowed."],
          force: ["Must be true or false."],
          nope: ["This field is not allowed."],
        },
      },
    ]);
  });

  it.each([
    [{ title: "" }, { title: ["Must have at least 1 characters."] }],
    [{ title: "x".repeat(21) }, { title: ["Must have at most 20 characters."] }],
    [{ title: "x", size: 1.5 }, { size: ["Must be a whole number."] }],
    [{ title: "x", size: "5" }, { size: ["Must be a number."] }],
    [{ title: null }, { title: ["Must be a text."] }],
    [{ title: "x", parts: {} }, { parts: ["Must be a list."] }],
    [{ title: "refused" }, { title: ["Is taken."] }],
  ])("explains %j", async (body, errors) => {
    const { status, json } = await ask(api(), "POST", "/notes", { body });
    expect([status, json.errors]).toEqual([422, errors]);
  });

  it("refuses unknown parts of the query, also those that a body may have", async () => {
    const it = api();
    const removal = await ask(it, "DELETE", "/notes/a?nope=1&a[]=b&keep_files=");
    expect([removal.status, Object.keys(removal.json.errors)]).toEqual([422, ["nope", "a[]"]]);
    const create = await ask(it, "POST", "/notes?title=y", { body: { title: "x" } });
    expect([create.status, create.json.errors]).toEqual([422, { title: ["This field is not allowed."] }]);
    expect(it.inputs).toEqual([]);
  });

  it("passes over unknown parts and empty values in the query of a read", async () => {
    const it = api();
    expect((await ask(it, "GET", "/notes?nope=1&take=5&a[]=b&pinned=&_=17")).status).toBe(200);
    expect((await ask(it, "GET", "/health?x=1")).status).toBe(200);
    expect(it.inputs).toMatchObject([{ take: 5 }]);
    expect(it.inputs[0]).not.toHaveProperty("pinned");
  });
});

describe("the query", () => {
  it.each([
    ["1", true],
    ["true", true],
    ["on", true],
    ["yes", true],
    ["YES", true],
    ["0", false],
    ["false", false],
    ["off", false],
    ["no", false],
  ])("reads %s as %s", async (text, value) => {
    const it = api();
    await ask(it, "GET", `/notes?pinned=${text}`);
    expect(it.inputs[0]).toMatchObject({ pinned: value });
  });

  it.each(["2", "yess", "null", "constructor", "__proto__"])("refuses %j as a flag", async (text) => {
    const { status, json } = await ask(api(), "GET", `/notes?pinned=${text}`);
    expect([status, json.errors]).toEqual([422, { pinned: ["Must be true or false."] }]);
  });

  it("reads a list from one value or several, and refuses several where one is meant", async () => {
    const it = api();
    await ask(it, "GET", "/notes?take=1&tag=a");
    await ask(it, "GET", "/notes?take=1&tag=a&tag=b&title=3");
    expect(it.inputs).toMatchObject([{ tag: ["a"] }, { tag: ["a", "b"], title: "3" }]);
    const { status, json } = await ask(it, "GET", "/notes?title=a&title=b");
    expect([status, json.errors]).toEqual([422, { title: ["Must be given once."] }]);
  });

  it("stands beside a body, which may carry the same keys", async () => {
    const it = api();
    await ask(it, "POST", "/notes?force=1", { body: { title: "x" } });
    await ask(it, "POST", "/notes", { body: { title: "x", force: true } });
    await ask(it, "POST", "/notes?force=yes", { body: { title: "x", force: true } });
    expect(it.inputs).toEqual(Array(3).fill({ title: "x", kind: "plain", force: true }));
    const { status, json } = await ask(it, "POST", "/notes?force=0", { body: { title: "x", force: true } });
    expect([status, json.errors]).toEqual([422, { force: ["Must be the same in the query and the body."] }]);
  });
});

describe("identifiers", () => {
  it("takes the path's, and refuses a body or query that names another of the same object", async () => {
    const it = api();
    expect((await ask(it, "PATCH", "/notes/a", { body: { uuid: "a", title: "x" } })).json.uuid).toBe("a");
    const body = await ask(it, "PATCH", "/notes/a", { body: { uuid: "b", title: "x" } });
    expect([body.status, body.json.errors]).toEqual([422, { uuid: ["Must be the same as in the path."] }]);
    expect((await ask(it, "PATCH", "/notes/a", { body: { uuid: { toString: 1 } } })).status).toBe(422);
    expect((await ask(it, "GET", "/notes/a?uuid=b")).status).toBe(422);
    expect((await ask(it, "GET", "/notes/a?uuid=a")).status).toBe(200);
  });

  it("keeps two of different objects apart", async () => {
    const it = api();
    const { json } = await ask(it, "PATCH", "/notes/a/comments", { body: { uuid: "b" } });
    expect(json).toEqual({ owner: "a", uuid: "b" });
    const { status, json: refused } = await ask(it, "PATCH", "/notes/a/comments", {
      body: { uuid: "b", note_uuid: "a" },
    });
    expect([status, refused.errors]).toEqual([422, { note_uuid: ["This field is not allowed."] }]);
  });
});
