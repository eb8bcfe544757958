import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { hostPrivileges, interpolateCompose, parseCompose, renderCompose, withDefaults } from "@berth/core/compose";
import { ServerSettings } from "@berth/core/server";
import { chosenTemplate, planUrls, planVariables, ServiceSettings, templateCompose } from "@berth/core/service";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ids } from "./ids.ts";
import { magic } from "./magic.ts";
import { readTemplates } from "./templates.ts";

const run = promisify(execFile);
const PATH = process.env.PATH ?? "";
const hasCompose = await run("docker", ["compose", "version"], { env: { PATH } }).then(
  () => true,
  () => false,
);
if (!hasCompose)
  process.stderr.write("docker compose is not installed: whether it reads the templates is not tried.\n");

const templates = await readTemplates();
// Published with the compose specification; it lies beside the repository where it was developed.
const schemaFile = fileURLToPath(new URL("../../../../shared/scripts/schemas/compose-spec.json", import.meta.url));
const isComposeFile = existsSync(schemaFile) ? compiled(await readFile(schemaFile, "utf8")) : undefined;

function compiled(schemaText: string) {
  const { $schema: _, ...schema } = z.looseObject({}).parse(JSON.parse(schemaText));
  return new Ajv({ strict: false, validateFormats: false, allowUnionTypes: true }).compile(schema);
}

const HealthTest = z.looseObject({ test: z.array(z.string()) });
const Needs = z.record(z.string(), z.looseObject({ condition: z.string() })).default({});

const byType = templates.map((template) => [template.type, template] as const);

/** Categories of the catalogue: few, each with several services. */
const CATEGORIES = [
  ...["ai", "analytics", "automation", "backend", "business", "cms", "communication", "databases", "development"],
  ...["documents", "files", "finance", "identity", "media", "monitoring", "projects", "reading", "search", "tools"],
];

/** Ports on the server itself, for protocols that an HTTP proxy cannot forward: git over SSH, and MQTT. */
const PUBLISHED = new Map([
  ["forgejo", "2223:22"],
  ["gitea", "2222:22"],
  ["mosquitto", "1883:1883"],
]);

test("there are one-click services, by their names", () => {
  expect(templates.length).toBeGreaterThanOrEqual(250);
  const types = templates.map(({ type }) => type);
  expect(types).toEqual(types.toSorted());
  expect(new Set(templates.map(({ slogan }) => slogan)).size).toBe(types.length);
  expect(new Set(templates.map(({ category }) => category))).toEqual(new Set(CATEGORIES));
  expect(types).toEqual(expect.arrayContaining([...PUBLISHED.keys()]));
});

test("each name stands for one of them", () => {
  const names = templates.flatMap(({ type, aliases }) => [type, ...aliases]);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  for (const { aliases } of templates) for (const name of aliases) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  const others = {
    "wordpress-with-mariadb": "wordpress",
    getoutline: "outline",
    "superset-with-postgresql": "superset",
    joplin: "joplin-server",
    "nextcloud-with-mysql": "nextcloud",
    "classicpress-with-mysql": "classicpress-with-mariadb",
    "uptime-kuma-with-mysql": "uptime-kuma-with-mariadb",
    "nexus-arm": "nexus",
    mautic5: "mautic",
    "forgejo-with-mysql": "forgejo",
    "classicpress-without-database": "classicpress-with-mariadb",
  };
  for (const [name, type] of Object.entries(others)) expect(chosenTemplate(templates, name).type).toBe(type);
});

// The API family names these variables and hosts, which its clients read.
test.each([
  ["minio", ["MINIO_SERVER_URL minio", "MINIO_BROWSER_REDIRECT_URL console"]],
  ["logto", ["LOGTO_ENDPOINT logto", "LOGTO_ADMIN_ENDPOINT logto-admin"]],
  ["garage", ["GARAGE_S3_API_URL s3", "GARAGE_WEB_URL web", "GARAGE_ADMIN_URL admin"]],
] as const)("%s gets a URL in each variable of its own", (type, wanted) => {
  const { urls } = templateCompose(chosenTemplate(templates, type));
  expect(urls.map(({ variable, label }) => `${variable} ${label}`)).toEqual(wanted);
});

describe.each(byType)("%s", (type, template) => {
  const compose = templateCompose(template);
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
    ...{
      variables: compose.variables,
      existing: [],
      urls: urls.urls,
      publicUrl: (url) => url,
      source,
      now: new Date(),
      isNewCompose: true,
    },
  });
  // Only the owner can provide required values.
  const values = new Map(
    insert.map(({ key, value, is_required }) => [key, value || (is_required ? "given" : (value ?? undefined))]),
  );
  const lasting = compose.containers.filter(({ isExcluded }) => !isExcluded).map(({ name }) => name);
  const started = () => {
    const text = renderCompose(compose, { uuid, settings: ServiceSettings.parse({}), network: "berth" });
    return interpolateCompose(text, (key) => values.get(key));
  };

  test.skipIf(!hasCompose)("is answered as a file that the compose tool reads", async () => {
    const folder = await mkdtemp(join(tmpdir(), "berth-template-"));
    try {
      const file = join(folder, "compose.yaml");
      await writeFile(file, renderCompose(compose, { uuid, settings: ServiceSettings.parse({}), network: "berth" }));
      const env = { ...Object.fromEntries(values), PATH, HOME: folder };
      const argv = ["compose", "--file", file, "config", "--quiet"];
      await expect(run("docker", argv, { env })).resolves.toMatchObject({ stdout: "" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("says what it is and where its documentation is", () => {
    expect(type).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(template.slogan).toMatch(/^[A-Z0-9].{10,120}\.$/);
    expect(template.documentation).toMatch(/^https:\/\//);
    expect(template.logo ?? "https://").toMatch(/^https:\/\//);
    expect(CATEGORIES).toContain(template.category);
    expect(template.tags.length).toBeGreaterThan(1);
    for (const tag of template.tags) expect(tag).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(template.port).toBeGreaterThan(0);
  });

  test("names a release of each image, so that it starts as it was written", () => {
    for (const { image } of compose.containers) {
      const [, tag] = /^[a-z0-9./-]+[a-z0-9]:([A-Za-z0-9][A-Za-z0-9._-]*)$/.exec(image ?? "") ?? [];
      expect(tag, image ?? "").toMatch(/\d/);
      expect(tag, image ?? "").not.toMatch(/latest|edge|nightly|master|main|dev/);
    }
  });

  test("leads at least one URL to one of its containers, on the port that it names", () => {
    const led = compose.urls.filter(({ container }) => container !== null);
    expect(led).toHaveLength(compose.urls.length);
    expect(led[0]?.port ?? 80).toBe(template.port);
    expect(urls.claims.size).toBeGreaterThan(0);
  });

  test("has a value for all that it needs, and says what its owner must give", () => {
    const ofUrls = new Set(compose.urls.map(({ variable }) => variable));
    for (const { key, fallback, isRequired } of compose.variables) {
      if (key.startsWith("SERVICE_") || ofUrls.has(key)) expect(values.get(key), key).toMatch(/./);
      else expect(fallback !== null || isRequired, `${key} needs a default`).toBe(true);
    }
    const text = interpolateCompose(compose.text, (key) => values.get(key));
    expect(text).not.toMatch(/\$\{?SERVICE_/);
    expect(parseCompose(text)).not.toHaveProperty("problems");
  });

  test("keeps its data in volumes that it names", () => {
    const named = new Set(Object.keys(compose.document.volumes ?? {}));
    const volumes = compose.containers.flatMap((container) => container.volumes);
    expect(new Set(volumes.map(({ name }) => name))).toEqual(named);
    expect(volumes.filter(({ hostPath }) => hostPath !== null)).toEqual([]);
    for (const container of compose.containers.filter(({ kind }) => kind === "database")) {
      expect(container.volumes.length).toBeGreaterThan(0);
    }
  });

  test("gives no container privileges on the server, nor a port of it that a URL can stand for", () => {
    expect(hostPrivileges(compose.document, compose.containers)).toEqual([]);
    expect(compose.text).not.toMatch(/docker\.sock|privileged|network_mode/);
    // Port numbers are defaults, so that a second service can have others.
    expect(compose.text).not.toMatch(/^ +- "?\d+:\d+/m);
    const ports = compose.containers.flatMap(({ ports: text }) => (text === null ? [] : [withDefaults(text)]));
    expect(ports).toEqual(PUBLISHED.has(type) ? [PUBLISHED.get(type)] : []);
  });

  test("knows of each of its containers whether it is healthy, and waits for those it needs", () => {
    for (const name of lasting) {
      const [kind, ...rest] = HealthTest.parse(compose.document.services[name]?.healthcheck).test;
      expect(["CMD", "CMD-SHELL"], name).toContain(kind);
      expect(rest.length, name).toBeGreaterThan(0);
      const command = rest.join(" ");
      expect(command, `${name} asks itself`).not.toMatch(/https?:\/\/(?!127\.0\.0\.1[:/]|localhost[:/]|127\.0\.0\.1$)/);
      // A single `$` would be expanded on the control plane, and be visible in the container's description.
      expect(command.replaceAll("$$", ""), `${name} doubles each $`).not.toContain("$");
    }
    for (const [name, { depends_on }] of Object.entries(compose.document.services)) {
      for (const [needed, { condition }] of Object.entries(Needs.parse(depends_on))) {
        expect(lasting.includes(needed) ? "service_healthy" : "service_completed_successfully", name).toBe(condition);
      }
    }
  });

  test("can be started as it is rendered", () => {
    const again = parseCompose(started());
    if ("problems" in again) throw new Error(again.problems.join());
    expect(again.containers.map(({ name, kind }) => [name, kind])).toEqual(
      compose.containers.map(({ name, kind }) => [name, kind]),
    );
  });

  test.skipIf(isComposeFile === undefined)("is a compose file as the published schema knows it", () => {
    const read = parseCompose(started());
    if ("problems" in read) throw new Error(read.problems.join());
    isComposeFile?.(read.document);
    expect(isComposeFile?.errors ?? []).toEqual([]);
  });
});

test("the documentation lists them as they are", async () => {
  await expect(listing()).toMatchFileSnapshot("../../../docs/one-click.md");
});

function listing(): string {
  const sections = CATEGORIES.map((category) => {
    const rows = templates
      .filter((template) => template.category === category)
      .map(
        ({ type, aliases, slogan, documentation, tags }) =>
          `| ${[`[${type}](${documentation})`, ...aliases].join(", ")} | ${slogan} | ${tags.join(", ")} |`,
      );
    return [`## ${category}`, "", "| Type | What it is | Tags |", "|---|---|---|", ...rows].join("\n");
  });
  return `${LISTING_HEAD}\n\n${sections.join("\n\n")}\n`;
}

const LISTING_HEAD = `# One-click services

What \`POST /api/v1/services/one-click\` makes by its \`type\`, and \`GET /api/v1/services/templates\` answers with filters and
pages. Types behind the first are aliases of it. [services.md](services.md) says how they are written. This list is made of them:
\`pnpm exec vitest run --project server templates -u\` writes it anew.`;

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
