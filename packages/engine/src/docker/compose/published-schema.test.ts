import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseCompose } from "@berth/core/compose";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planStack } from "./document.ts";
import { stackSpec } from "./stack.fixture.ts";

// Published with the compose specification; it lies beside the repository where it was developed.
const SCHEMA = fileURLToPath(new URL("../../../../../../shared/scripts/schemas/compose-spec.json", import.meta.url));
const schemaPath = [SCHEMA, process.env.BERTH_COMPOSE_SCHEMA ?? ""].find((path) => existsSync(path));
const skipReason = "no copy of the published compose schema: name one by BERTH_COMPOSE_SCHEMA";

describe.skipIf(schemaPath === undefined)("the published compose schema", { meta: { skipReason } }, () => {
  const validate = schemaPath === undefined ? undefined : compiled(readFileSync(schemaPath, "utf8"));
  const isPublished = (document: unknown) => validate?.(JSON.parse(JSON.stringify(document))) === true;

  test("takes no key's form that Berth refuses", () => {
    fc.assert(
      fc.property(document(form), (value) => {
        expect(isPublished(value), JSON.stringify(validate?.errors)).toBe(true);
        expect(problemsOf(value)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("refuses what Berth refuses for its shape", () => {
    fc.assert(
      fc.property(document(junkSomewhere), (value) => {
        const problems = problemsOf(value)
          .filter(isOfShape)
          .filter((problem) => !isOfTarget(problem));
        if (problems.length > 0) expect(isPublished(value), problems.join()).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  test.each(Object.entries(LENIENT))("takes %s only of Berth's own accord", (_title, service) => {
    expect(problemsOf({ services: { web: service } })).toEqual([]);
    expect(isPublished({ services: { web: service } })).toBe(false);
  });

  test("takes what the compose tool is told, whatever the text said", () => {
    fc.assert(
      fc.property(document(form), (value) => {
        const text = JSON.stringify(value);
        const compose = parseCompose(text);
        if ("problems" in compose) throw new Error(compose.problems.join());
        const told = planStack(stackSpec(text, {}), compose, "inst").document;
        expect(isPublished(told) || validate?.errors).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function compiled(text: string) {
  const { $schema: _draft, ...schema } = JSON.parse(text);
  return new Ajv({ strict: false, validateFormats: false, allowUnionTypes: true }).compile(schema);
}

function problemsOf(value: unknown): readonly string[] {
  const read = parseCompose(JSON.stringify(value));
  return "problems" in read ? read.problems : [];
}

/** Whether a problem concerns a value's type, not Berth's own rules for names and paths. */
const isOfShape = (problem: string) => /: Invalid input/.test(problem);

/** The tool requires a target, but the schema does not. */
const isOfTarget = (problem: string) => /\.(ports|volumes)\.\d+(\.target)?: /.test(problem);

/** Forms that the tool accepts and existing files use, although the schema lacks them. */
const LENIENT = {
  "a restart that YAML read as a boolean": { image: "a", restart: false },
  "numbers in a list of variables": { image: "a", environment: [1] },
  "nothing behind a key": { image: "a", environment: null, ports: null, volumes: null, networks: null },
  "the mark that leaves a container out of the status": { image: "a", exclude_from_hc: true },
  "a file with its content": { image: "a", volumes: [{ type: "bind", source: "./a", target: "/a", content: "x" }] },
  "a volume without its type": { image: "a", volumes: [{ source: "a", target: "/a" }] },
};

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
const scalar = fc.oneof(name, fc.integer(), fc.boolean(), fc.constant(null));
const port = fc.integer({ min: 1, max: 65_535 });
const portText = fc.oneof(
  port.map(String),
  fc.tuple(port, port).map(([from, to]) => `${from}:${to}/tcp`),
);
const target = name.map((path) => `/${path}`);
const unique = <T>(item: fc.Arbitrary<T>) =>
  fc.uniqueArray(item, { maxLength: 3, selector: (value) => JSON.stringify(value) });
const some = <T extends object>(keys: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(keys, { requiredKeys: [] });

/** Each key that Berth reads, in every form of the schema. */
const FORMS = {
  build: fc.oneof(name, some({ context: name, dockerfile: name, target: name })),
  restart: fc.constantFrom("no", "always", "on-failure", "on-failure:3", "unless-stopped"),
  environment: fc.oneof(fc.dictionary(name, scalar, { maxKeys: 3 }), unique(name.map((key) => `${key}=1`))),
  ports: unique(
    fc.oneof(
      port,
      portText,
      fc.record(
        { target: fc.oneof(port, port.map(String)), published: port.map(String), host_ip: fc.constant("127.0.0.1") },
        { requiredKeys: ["target"] },
      ),
    ),
  ),
  expose: unique(fc.oneof(port, port.map(String))),
  volumes: unique(
    fc.oneof(
      target,
      fc.tuple(name, target).map(([source, path]) => `${source}:${path}:ro`),
      fc.record(
        { type: fc.constant("volume"), source: name, target, read_only: fc.boolean() },
        { requiredKeys: ["type", "target"] },
      ),
      fc.record({ type: fc.constant("tmpfs"), target }),
    ),
  ),
  networks: fc.oneof(
    unique(name),
    fc.dictionary(name, fc.oneof(fc.constant(null), some({ aliases: unique(name) })), { maxKeys: 3 }),
  ),
  // Keys that Berth does not read but passes on.
  command: fc.oneof(name, unique(name)),
  labels: fc.oneof(unique(name), fc.dictionary(name, name, { maxKeys: 2 })),
  depends_on: fc.constant([]),
  healthcheck: fc.oneof(
    fc.constant({ disable: true }),
    fc.record({ test: unique(name).map((rest) => ["CMD", ...rest]) }),
  ),
  deploy: some({ replicas: fc.integer({ min: 0, max: 3 }), labels: unique(name) }),
  // `__proto__` is refused everywhere, and `<<` merges the map that is its value.
  "x-own": fc.jsonValue({ maxDepth: 2 }).filter((value) => !/__proto__|"<<"/.test(JSON.stringify(value))),
};
type Forms = typeof FORMS;
type Key = keyof Forms;

const form = <K extends Key>(key: K): fc.Arbitrary<unknown> => FORMS[key];
const JUNK = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(-1, "", [], {}, [[]], [{}], { a: [] }));
const junkSomewhere = (key: Key) => fc.oneof({ weight: 4, arbitrary: form(key) }, { weight: 1, arbitrary: JUNK });

/** Networks and volumes that are used must be declared, as the tool requires. */
function document(value: (key: Key) => fc.Arbitrary<unknown>) {
  const keys = Object.keys(FORMS) as Key[];
  const service = fc.record(
    { image: name, ...Object.fromEntries(keys.map((key) => [key, value(key)])) },
    { requiredKeys: ["image"] },
  );
  return fc.dictionary(name, service, { minKeys: 1, maxKeys: 3 }).map((services) => {
    const of = (key: string) => Object.values(services).map((each) => Reflect.get(each, key) as unknown);
    const networks = of("networks").flatMap((each) =>
      Array.isArray(each) ? each.filter((item) => typeof item === "string") : Object.keys(each ?? {}),
    );
    return { services, networks: Object.fromEntries(networks.map((network) => [network, null])) };
  });
}
