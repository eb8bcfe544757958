import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  interpolateCompose,
  parseCompose,
  planUrls,
  planVariables,
  renderCompose,
  ServerSettings,
  ServiceSettings,
} from "@berth/core";
import { describe, expect, test } from "vitest";
import { ids } from "./ids.ts";
import { magic } from "./magic.ts";
import { readTemplates, TEMPLATES_FOLDER } from "./templates.ts";

const templates = await readTemplates(TEMPLATES_FOLDER);
const byType = templates.map((template) => [template.type, template] as const);

test("there are one-click services, by their names", () => {
  expect(templates.length).toBeGreaterThanOrEqual(12);
  expect(templates.map(({ type }) => type)).toEqual(templates.map(({ type }) => type).toSorted());
});

describe.each(byType)("%s", (type, template) => {
  const { compose } = template;
  const uuid = ids.uuid();
  const server = { ip: "10.0.0.7", settings: ServerSettings.parse({}) };
  const urls = planUrls(
    compose,
    { uuid, server },
    {
      requested: new Map(),
      current: new Map(),
      isNewCompose: true,
      isNamedBefore: () => false,
    },
  );
  const source = { ...magic, secret: ids.secret };
  const { insert } = planVariables({
    ...{ variables: compose.variables, existing: [], urls: urls.urls, source, now: new Date(), isNewCompose: true },
  });
  const values = new Map(insert.map(({ key, value }) => [key, value ?? undefined]));

  test("says what it is and where its documentation is", () => {
    expect(type).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(template.slogan).toMatch(/^[A-Z0-9].{10,120}\.$/);
    expect(template.documentation).toMatch(/^https:\/\//);
    expect(template.tags.length).toBeGreaterThan(1);
    expect(template.port).toBeGreaterThan(0);
  });

  test("leads at least one URL to one of its containers, on the port that it names", () => {
    const led = compose.urls.filter(({ container }) => container !== null);
    expect(led).toHaveLength(compose.urls.length);
    expect(led[0]?.port ?? 80).toBe(template.port);
    expect(urls.claims.size).toBeGreaterThan(0);
  });

  test("has a value for all that it needs", () => {
    for (const { key, isRequired } of compose.variables) {
      if (key.startsWith("SERVICE_") || isRequired) expect(values.get(key), key).toMatch(/./);
    }
    const started = interpolateCompose(compose.text, (key) => values.get(key));
    expect(started).not.toMatch(/\$\{?SERVICE_/);
    const again = parseCompose(started);
    expect(again).not.toHaveProperty("problems");
  });

  test("keeps its data in volumes that it names, and gives no container power over the server", () => {
    const named = new Set(Object.keys(compose.document.volumes ?? {}));
    const used = compose.containers.flatMap(({ volumes }) => volumes.map(({ name }) => name));
    expect(new Set(used)).toEqual(named);
    for (const container of compose.containers.filter(({ kind }) => kind === "database")) {
      expect(container.volumes.length).toBeGreaterThan(0);
    }
  });

  test("can be started as it is rendered", () => {
    const text = renderCompose(compose, { uuid, settings: ServiceSettings.parse({}), network: "berth" });
    const again = parseCompose(text);
    if ("problems" in again) throw new Error(again.problems.join());
    expect(again.containers.map(({ name, kind }) => [name, kind])).toEqual(
      compose.containers.map(({ name, kind }) => [name, kind]),
    );
  });
});

test("a template that cannot be used is named, and ends the start", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-templates-"));
  try {
    await writeFile(join(folder, "good.yaml"), "services: {a: {image: a}}");
    await writeFile(join(folder, "README.md"), "Not a template.");
    expect((await readTemplates(folder)).map(({ type, slogan, tags }) => [type, slogan, tags])).toEqual([
      ["good", null, []],
    ]);
    await writeFile(join(folder, "bad.yaml"), "services: {}");
    await expect(readTemplates(folder)).rejects.toThrow(/template bad cannot be used/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("what a service signs and draws by chance is what node makes of it", () => {
  expect(magic.bytes(32)).toHaveLength(32);
  expect(magic.bytes(32)).not.toEqual(magic.bytes(32));
  expect(Buffer.from(magic.hmacSha256("k", "t"))).toEqual(createHmac("sha256", "k").update("t").digest());
});
