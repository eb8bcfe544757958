import { NEXT_VERSION, VERSION } from "@berth/core";
import { beforeAll, describe, expect, test } from "vitest";
import { type Description, describe as describeApi } from "./openapi.ts";
import { operationsOf, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

let description: Description;
beforeAll(async () => {
  description = await describeApi(appRouter);
});

const operations = () =>
  Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
/** All keys and texts inside a value, each text with its key. */
function* entriesOf(value: unknown): Generator<readonly [key: string, value: unknown]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield [key, inner];
    yield* entriesOf(inner);
  }
}

describe("the description of Berth", () => {
  test("[S73] is that of the released version", () => {
    expect([VERSION, NEXT_VERSION]).toEqual(["4.0.0-beta.437", "4.0.0-beta.438"]);
    expect(description.info).toMatchObject({ version: VERSION });
  });

  test("[S74] marks the actions by GET as deprecated, and what has a better form, but nothing else", () => {
    const deprecated = operations().filter(({ operation }) => operation.deprecated === true);
    const marked = operationsOf(appRouter)
      .flatMap(routesOf)
      .filter(({ isTwin, operation }) => isTwin || operation.options.deprecated === true)
      .map(({ method, path }) => `${method} ${path}`);
    expect(deprecated.map(({ name }) => name).toSorted()).toEqual(marked.toSorted());
    expect(marked).toEqual(expect.arrayContaining(["GET /applications/{uuid}/start", "GET /deploy", "GET /enable"]));
  });

  test("[S04] has no operation that runs a command", () => {
    // Executions of scheduled tasks are read or deleted, not run.
    const running = operations().filter(({ name }) => /exec(?!utions\b|ution_uuid\b)|command/i.test(name));
    expect(running.map(({ name }) => name)).toEqual([]);
  });

  test("[S12] knows no is_build_time", () => {
    expect([...entriesOf(description)].some(([key]) => key === "is_build_time")).toBe(false);
  });

  test("[S05] gives no answer an attribute named domains, but lists of several", () => {
    // `SavedService` has a field `domains`, where clients of this API family read the containers' URLs.
    const { ServerDomains, SavedService: _, ...schemas } = description.components.schemas;
    expect(ServerDomains).toMatchObject({ properties: { ip: {}, domains: {} } });
    const answers = [schemas, ...operations().map(({ operation }) => operation.responses)];
    for (const answer of answers) {
      for (const [key, value] of entriesOf(answer)) {
        if (key === "properties") expect(Object.keys(value as object)).not.toContain("domains");
      }
    }
  });

  test("[S48] speaks of an application's and a service's urls", () => {
    const theirs = operations().filter(({ name }) => /\/(applications|services)/.test(name));
    const { Application, Service, ServiceApplication, ServiceUrl, SavedService } = description.components.schemas;
    const texts = [Application, Service, ServiceApplication, ServiceUrl, SavedService, ...theirs]
      .flatMap((part) => [...entriesOf(part)])
      .filter(([key]) => key === "description" || key === "summary")
      .map(([, text]) => String(text));
    // Names of fields may appear in texts.
    expect(texts.filter((text) => /\bdomains?\b/i.test(text.replace(/`[^`]*`|\w+_domains?/g, "")))).toEqual([]);
    expect(texts.some((text) => /\bURLs\b/.test(text))).toBe(true);
  });

  test("[S69] lists 422 for every operation that takes input", () => {
    const taking = operations().filter(({ operation }) => operation.requestBody || operation.parameters);
    expect(taking.length).toBeGreaterThan(30);
    expect(taking.filter(({ operation }) => !("422" in (operation.responses ?? {}))).map(({ name }) => name)).toEqual(
      [],
    );
  });
});
