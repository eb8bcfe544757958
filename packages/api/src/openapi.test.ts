import { createConfig, lintFromString } from "@redocly/openapi-core";
import { afterAll, beforeAll, expect, it, describe as suite } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { type Example, example } from "./example.fixture.ts";
import { type Description, describe, jsonOf, yamlOf } from "./openapi.ts";
import { operation } from "./operation.ts";
import { router } from "./trpc.ts";

suite("the description", () => {
  let api: Example & ReturnType<typeof example>;
  let description: Description;
  beforeAll(async () => {
    api = example();
    description = await describe(api.router);
  });
  afterAll(() => api.app.close());

  // Paths and methods are asked for by name and shown whole.
  // biome-ignore lint/suspicious/noExplicitAny: a description is JSON, and a test may reach anywhere into it.
  const at = (method: string, path: string): any => description.paths[path]?.[method];

  it("is valid and passes a linter", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] });
    const problems = await lintFromString({ source: jsonOf(description), config, absoluteRef: "/openapi.json" });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  it("is the same every time, as JSON and as YAML", async () => {
    const again = await describe(api.router);
    expect(jsonOf(again)).toBe(jsonOf(description));
    expect(await yamlOf(again)).toBe(await yamlOf(description));
    expect(parse(await yamlOf(description))).toEqual(JSON.parse(jsonOf(description)));
  });

  it("names every route that is served, and the others by a deprecated twin", () => {
    expect(Object.entries(description.paths).map(([path, methods]) => [path, Object.keys(methods).join()])).toEqual([
      ["/applications/{uuid}/tags", "get,post"],
      ["/databases/{uuid}/tags", "get,post"],
      ["/enable", "get,post"],
      ["/health", "get"],
      ["/notes", "get,patch,post"],
      ["/notes/latest", "get"],
      ["/notes/new", "post"],
      ["/notes/{uuid}", "delete,get,patch"],
      ["/notes/{uuid}/comments", "patch"],
      ["/notes/{uuid}/file", "get,post"],
      ["/notes/{uuid}/lines", "get"],
      ["/notes/{uuid}/send", "get,post"],
    ]);
    expect([at("get", "/enable").deprecated, at("post", "/enable").deprecated]).toEqual([true, undefined]);
    expect([at("post", "/notes/new").deprecated, at("patch", "/notes").deprecated]).toEqual([true, true]);
  });

  it("says what an operation answers and refuses", () => {
    expect(Object.keys(at("post", "/notes").responses)).toEqual([
      ...["201", "400", "401", "403", "409", "413", "422", "429", "500", "503"],
    ]);
    expect(Object.keys(at("delete", "/notes/{uuid}").responses)).toContain("404");
    expect(at("delete", "/notes/{uuid}").responses["204"].content).toBeUndefined();
    expect(Object.keys(at("get", "/health").responses)).toEqual(["200", "422", "500"]);
    expect(at("get", "/health").security).toEqual([]);
    expect(at("post", "/notes").responses["429"]).toEqual({
      $ref: "#/components/responses/TooMany",
      description: "Too many requests, or a full queue. `rate.limited`, `queue.full`.",
    });
    expect(at("get", "/notes").description).toBe("Needs the ability `read`.");
  });

  it("puts every key where the adapter reads it", () => {
    const parameters = (method: string, path: string) =>
      at(method, path).parameters?.map(({ in: place, name }: { in: string; name: string }) => `${place} ${name}`);
    const fields = (method: string, path: string) =>
      Object.keys(at(method, path).requestBody?.content["application/json"].schema.properties ?? {});

    expect(parameters("get", "/notes")).toEqual([
      "query skip",
      "query take",
      "query pinned",
      "query tag",
      "query title",
    ]);
    expect([parameters("post", "/notes"), fields("post", "/notes")]).toEqual([
      ["query force"],
      ["title", "size", "kind", "labels", "parts"],
    ]);
    expect([parameters("patch", "/notes/{uuid}"), fields("patch", "/notes/{uuid}")]).toEqual([
      ["path uuid"],
      ["title", "pinned"],
    ]);
    expect([parameters("patch", "/notes"), fields("patch", "/notes")]).toEqual([
      undefined,
      ["uuid", "title", "pinned"],
    ]);
    expect([parameters("get", "/notes/{uuid}/send"), fields("get", "/notes/{uuid}/send")]).toEqual([
      ["path uuid", "query times"],
      [],
    ]);
    expect([parameters("patch", "/notes/{uuid}/comments"), fields("patch", "/notes/{uuid}/comments")]).toEqual([
      ["path uuid"],
      ["uuid", "text"],
    ]);
    expect(parameters("post", "/notes/{uuid}/file")).toEqual(["path uuid", "query name"]);
    expect(parameters("get", "/notes/{uuid}/lines")).toEqual([
      ...["path uuid", "query until", "query lastEventId", "header Last-Event-ID"],
    ]);
    expect(at("get", "/notes").parameters[1]).toEqual({
      ...{ in: "query", name: "take", description: "Maximum number of entries. All by default." },
      schema: { type: "integer", minimum: 1, maximum: 1000 },
    });
  });

  it("closes bodies, also those with rules over several fields", () => {
    const schema = at("post", "/notes").requestBody.content["application/json"].schema;
    expect([schema.additionalProperties, schema.required]).toEqual([false, ["title"]]);
    expect(schema.properties.parts.items.additionalProperties).toBe(false);
  });

  it("shows files, texts and streams as what they are", () => {
    expect(Object.keys(at("post", "/notes/{uuid}/file").requestBody.content)).toEqual([
      ...["application/gzip", "application/octet-stream"],
    ]);
    expect(at("get", "/health").responses["200"].content).toEqual({ "text/plain": { schema: { type: "string" } } });
    const stream = at("get", "/notes/{uuid}/lines").responses["200"].content["text/event-stream"];
    expect(stream.schema.items.properties.data.contentSchema).toEqual({ $ref: "#/components/schemas/Line" });
  });

  it("shows the headers of lists", () => {
    expect(Object.keys(at("get", "/notes").responses["200"].headers)).toEqual([
      ...["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-Total-Count", "Link"],
    ]);
  });

  it("holds no bound that every number has and no body that is not ours", () => {
    expect(jsonOf(description)).not.toMatch(/9007199254740991|error\.|"parameters": \[\]/);
  });

  it("cannot be made of a definition that could not be served", async () => {
    const base = { method: "GET", operationId: "x", tag: "System", summary: "x", ability: "read" } as const;
    const loose = operation({ ...base, path: "/x" })
      .input(z.object({}))
      .output(z.string())
      .query(() => "");
    const silent = operation({ ...base, path: "/x" }).query(() => "");
    const unnamed = operation({ ...base, path: "/x/{uuid}" })
      .output(z.string())
      .query(() => "");
    const good = operation({ ...base, path: "/x" })
      .output(z.string())
      .query(() => "");
    await expect(describe(router({ loose }))).rejects.toThrow("The input of loose must be one strict object.");
    await expect(describe(router({ silent }))).rejects.toThrow("silent must say what it answers.");
    await expect(describe(router({ unnamed }))).rejects.toThrow("GET /x/{uuid}: the input of unnamed has no uuid.");
    await expect(describe(router({ good, again: good }))).rejects.toThrow("GET /x is defined twice.");
  });
});
