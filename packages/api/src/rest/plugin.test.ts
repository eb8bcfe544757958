import { afterEach, describe, expect, it } from "vitest";
import { ask, type Example, type ExampleOptions, example } from "../example.fixture.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

function api(options?: ExampleOptions) {
  const it = example(options);
  open.push(it);
  return it;
}

describe("answers", () => {
  it("gives a procedure's output as JSON with the documented status", async () => {
    const { status, json, headers } = await ask(api(), "POST", "/notes", { body: { title: "hello" } });
    expect([status, json]).toEqual([201, { uuid: "new", title: "hello", pinned: false, size: 3 }]);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  it("gives nothing with 204", async () => {
    const { status, text, headers } = await ask(api(), "DELETE", "/notes/a");
    expect([status, text, headers["content-type"]]).toEqual([204, "", undefined]);
  });

  it("gives text as text, without a token where none is needed", async () => {
    const { status, text, headers } = await ask(api(), "GET", "/health", { token: null });
    expect([status, text, headers["content-type"]]).toEqual([200, "OK", "text/plain; charset=utf-8"]);
  });

  it("answers HEAD as GET, without a body", async () => {
    const { status, text, headers } = await ask(api(), "HEAD", "/notes/a");
    expect([status, text, headers["content-length"]]).toEqual([200, "", "53"]);
  });

  it("prefers a literal path to a parameter, whatever the order of definition, and ignores a trailing slash", async () => {
    const it = api();
    expect((await ask(it, "GET", "/notes/latest")).json).toMatchObject({ count: 25 });
    expect((await ask(it, "GET", "/notes/latest/")).json).toMatchObject({ count: 25 });
    expect((await ask(it, "GET", "/notes/lates")).json).toMatchObject({ uuid: "lates" });
  });

  it("serves aliases, and actions by GET too", async () => {
    const it = api();
    expect((await ask(it, "POST", "/notes/new", { body: { title: "x" } })).status).toBe(201);
    expect((await ask(it, "PATCH", "/notes", { body: { uuid: "a", title: "x" } })).json).toMatchObject({ uuid: "a" });
    expect((await ask(it, "POST", "/notes/a/send?times=2")).json).toEqual({ message: "sent 2" });
    expect((await ask(it, "GET", "/notes/a/send?times=3")).json).toEqual({ message: "sent 3" });
  });

  it("serves one definition for every kind", async () => {
    const it = api();
    expect((await ask(it, "POST", "/applications/a/tags", { body: { name: "x" } })).json).toEqual({
      ...{ kind: "application", uuid: "a", name: "x" },
    });
    expect((await ask(it, "GET", "/databases/b/tags")).json).toEqual(["database", "b"]);
  });

  it("decodes path parameters", async () => {
    const it = api();
    await ask(it, "PATCH", "/notes/a%2Fb%20%C3%A9", { body: { title: "x" } });
    expect(it.inputs).toEqual([{ uuid: "a/b é", title: "x" }]);
  });

  it("takes a sane request id over and makes one otherwise", async () => {
    const it = api();
    const given = await ask(it, "GET", "/notes/missing", { headers: { "x-request-id": "ci-42:a" } });
    expect([given.headers["x-request-id"], given.json.request_id]).toEqual(["ci-42:a", "ci-42:a"]);
    const made = await ask(it, "GET", "/notes/missing", { headers: { "x-request-id": 'a b"<script>' } });
    expect(made.json.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(made.headers["x-request-id"]).toBe(made.json.request_id);
  });
});

describe("who may ask", () => {
  const unauthenticated = { status: 401, json: { message: "Unauthenticated.", code: "auth.unauthenticated" } };
  it.each([
    ["no token", null],
    ["an unknown token", "1|nope"],
    ["the secret of another number", "2|all"],
    ["an expired token", "3|old"],
    ["an empty token", ""],
    ["a token with spaces", "1|all x"],
  ])("refuses %s", async (_, token) => {
    expect(await ask(api(), "GET", "/notes", { token })).toMatchObject(unauthenticated);
  });

  it("takes a bare secret, and the scheme's name in any case", async () => {
    const it = api();
    expect((await ask(it, "GET", "/notes", { token: "all" })).status).toBe(200);
    expect((await ask(it, "GET", "/notes", { token: null, headers: { authorization: "bearer 1|all" } })).status).toBe(
      200,
    );
  });

  it("gives the operation the scope of the token, after one look-up", async () => {
    const it = api();
    await ask(it, "GET", "/notes?take=1");
    expect(it.scopes).toEqual([
      {
        teamId: 7,
        abilities: ["read", "write", "deploy"],
        actor: { type: "token", id: 1, name: "all", expiresAt: null, userId: 0, role: "owner" },
      },
    ]);
    expect(it.look.count).toBe(1);
  });

  it("refuses a token without the ability, before it looks at the input", async () => {
    const { status, json } = await ask(api(), "POST", "/notes", { token: "2|reader", text: "{" });
    expect([status, json.message, json.code]).toEqual([
      403,
      "Missing required permissions: write",
      "auth.missing_ability",
    ]);
  });

  it("lets root do everything", async () => {
    expect((await ask(api(), "POST", "/notes", { token: "4|root", body: { title: "x" } })).status).toBe(201);
  });

  it("refuses everything while the API is off, except what switches it on", async () => {
    const it = api({ isApiEnabled: false });
    const { status, json } = await ask(it, "GET", "/notes");
    expect([status, json.message, json.success]).toEqual([403, "API is disabled.", false]);
    expect((await ask(it, "GET", "/enable")).json).toEqual({ message: "API enabled." });
    expect((await ask(it, "POST", "/enable", { token: "2|reader" })).status).toBe(403);
    expect((await ask(it, "GET", "/notes", { token: null })).status).toBe(401);
  });
});

describe("errors", () => {
  it("gives what a use case refused its status, code and details", async () => {
    const { status, json } = await ask(api(), "POST", "/notes", { body: { title: "conflict" } });
    expect([status, json]).toEqual([
      409,
      { message: "Taken.", code: "domain.conflict", conflicts: [{ domain: "a" }], request_id: expect.any(String) },
    ]);
  });

  it("says when to try again", async () => {
    const { status, headers, json } = await ask(api(), "POST", "/notes", { body: { title: "full" } });
    expect([status, headers["retry-after"], json.code]).toEqual([429, "60", "queue.full"]);
  });

  it("has one form for everything invalid, also where no field is at fault", async () => {
    const { status, json } = await ask(api(), "POST", "/notes", { body: { title: "gone" } });
    expect([status, json.message, json.code, json.errors]).toEqual([
      ...[422, "Validation failed.", "source.not_found", { _: ["There is no such branch."] }],
    ]);
  });

  it("tells an unknown object from an unknown path", async () => {
    const it = api();
    const object = await ask(it, "GET", "/notes/missing");
    expect([object.status, object.json.message, object.json.docs]).toEqual([404, "Note not found.", undefined]);
    const path = await ask(it, "GET", "/nothing/here", { token: null });
    expect([path.status, path.json]).toEqual([
      404,
      { message: "Not found.", code: "request.not_found", docs: "/docs", request_id: expect.any(String) },
    ]);
  });

  it.each([
    ["PUT", "/notes", "GET, HEAD, PATCH, POST"],
    ["POST", "/notes/abc", "DELETE, GET, HEAD, PATCH"],
    ["POST", "/notes/latest", "DELETE, GET, HEAD, PATCH"],
    ["DELETE", "/health/", "GET, HEAD"],
    ["TRACE", "/health", "GET, HEAD"],
    ["DELETE", "/notes/a/send", "GET, HEAD, POST"],
  ])("answers %s %s with 404 and the methods that are served", async (method, path, allow) => {
    const { status, headers, json } = await ask(api(), method, path, { token: "4|root" });
    expect([status, headers.allow, json.message, json.docs]).toEqual([404, allow, "Not found.", "/docs"]);
  });

  it("hides what broke from the caller and tells it the log, once", async () => {
    const it = api();
    const { status, json, text } = await ask(it, "GET", "/notes/broken");
    expect([status, json]).toEqual([
      500,
      { message: "Server Error", code: "internal.error", request_id: json.request_id },
    ]);
    expect(text).not.toMatch(/secret_table|TypeError|at /);
    expect(it.faults).toHaveLength(1);
    expect(it.faults[0]).toMatchObject({ id: json.request_id, operation: "notes.get" });
    expect(String(JSON.stringify(causes(it.faults[0]?.error)))).toContain("secret_table");
  });

  it("answers nothing that its description does not allow", async () => {
    const it = api();
    const { status, text } = await ask(it, "GET", "/notes/wrong");
    expect([status, it.faults.length]).toEqual([500, 1]);
    expect(text).not.toContain("size");
  });

  it("logs no refusal", async () => {
    const it = api();
    await ask(it, "GET", "/notes/missing");
    await ask(it, "POST", "/notes", { body: { title: 1 } });
    expect(it.faults).toEqual([]);
  });

  it("refuses a malformed URL with its usual body", async () => {
    const { status, json } = await ask(api(), "GET", "/notes/%zz");
    expect([status, json.code, json.request_id]).toEqual([400, "request.malformed", expect.any(String)]);
  });
});

describe("lists", () => {
  it("gives everything unless asked for less, and says how much there is", async () => {
    const { json, headers } = await ask(api(), "GET", "/notes");
    expect([json.length, headers["x-total-count"], headers.link]).toEqual([
      25,
      "25",
      '</api/v1/notes?skip=0>; rel="first"',
    ]);
  });

  it("answers HEAD for one that is read in parts", async () => {
    const { status, headers } = await ask(api(), "HEAD", "/notes");
    expect([status, headers["x-total-count"]]).toEqual([200, "25"]);
  });

  it("links to the pages around", async () => {
    const { json, headers } = await ask(api(), "GET", "/notes?take=10&skip=10&pinned=yes");
    expect(json).toHaveLength(10);
    expect(String(headers.link).split(", ")).toEqual([
      '</api/v1/notes?take=10&skip=0&pinned=yes>; rel="first"',
      '</api/v1/notes?take=10&skip=0&pinned=yes>; rel="prev"',
      '</api/v1/notes?take=10&skip=20&pinned=yes>; rel="next"',
      '</api/v1/notes?take=10&skip=20&pinned=yes>; rel="last"',
    ]);
  });

  it("links to no page behind the last and none before the first", async () => {
    const it = api();
    expect((await ask(it, "GET", "/notes?take=10&skip=20")).headers.link).not.toContain("next");
    expect((await ask(it, "GET", "/notes?take=10&skip=5")).headers.link).toContain('skip=0>; rel="prev"');
    expect((await ask(it, "GET", "/notes?take=10&skip=9000")).headers.link).toContain('skip=20>; rel="prev"');
  });

  it("cuts where the operation cuts", async () => {
    expect((await ask(api(), "GET", "/notes/latest")).json.notes[0].uuid).toBe("10");
  });

  it.each(["take=0", "take=1001", "take=-1", "skip=-1", "take=1.5", "take=ten", "skip=1e3", "skip=0x10"])(
    "refuses ?%s",
    async (query) => {
      const { status, json } = await ask(api(), "GET", `/notes?${query}`);
      expect([status, Object.keys(json.errors)]).toEqual([422, [query.split("=")[0]]]);
    },
  );
});

describe("the rate limit", () => {
  it("counts each token by itself and says where it stands", async () => {
    let now = 60_000_000;
    const it = api({ requestsPerMinute: 2, now: () => new Date(now) });
    const stand = async (token: string | null, path = "/notes") => {
      const { status, headers } = await ask(it, "GET", path, { token });
      return [status, headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]];
    };
    expect(await stand("1|all")).toEqual([200, "2", "1"]);
    expect(await stand("all")).toEqual([200, "2", "0"]);
    expect(await stand("2|reader")).toEqual([200, "2", "1"]);
    now += 20_000;
    const over = await ask(it, "GET", "/notes");
    expect([over.status, over.json.code, over.json.message]).toEqual([429, "rate.limited", "Too Many Attempts."]);
    expect([over.headers["retry-after"], over.headers["x-ratelimit-reset"]]).toEqual(["40", "60060"]);
    now += 40_000;
    expect(await stand("1|all")).toEqual([200, "2", "1"]);
  });

  it("counts callers without a valid token by address, and asks the database no more beyond it", async () => {
    const it = api({ requestsPerMinute: 2 });
    await ask(it, "GET", "/notes", { token: "wrong" });
    await ask(it, "GET", "/nowhere", { token: null });
    expect(it.look.count).toBe(1);
    expect((await ask(it, "GET", "/notes", { token: "guess" })).status).toBe(429);
    expect((await ask(it, "GET", "/notes", { token: null })).status).toBe(429);
    expect(it.look.count).toBe(1);
  });

  it("does not make a token that asked before wait for its address", async () => {
    const it = api({ requestsPerMinute: 3 });
    await ask(it, "GET", "/notes");
    for (let i = 0; i < 5; i++) await ask(it, "GET", "/notes", { token: "guess" });
    expect((await ask(it, "GET", "/notes")).status).toBe(200);
  });

  it("lets probes pass", async () => {
    const it = api({ requestsPerMinute: 1 });
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await ask(it, "GET", "/health", { token: null });
      expect([status, headers["x-ratelimit-limit"]]).toEqual([200, undefined]);
    }
  });
});

function causes(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...causes(error.cause)] : [];
}
