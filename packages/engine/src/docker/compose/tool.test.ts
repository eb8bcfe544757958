import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Compose, parseCompose } from "@berth/core/compose";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planStack } from "./document.ts";
import { stackSpec } from "./stack.fixture.ts";
import { composeArgv } from "./tool.ts";
import { yamlText } from "./yaml-text.ts";

const run = promisify(execFile);
const PATH = process.env.PATH ?? "";

const hasCompose = await run("docker", ["compose", "version"], { env: { PATH } }).then(
  () => true,
  () => false,
);
if (!hasCompose) process.stderr.write("docker compose is not installed: what it reads is not tried.\n");

function composeOf(text: string): Compose {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
}

/** The document as the real compose tool parses it. No engine is needed. */
async function read(document: unknown): Promise<{ services: Record<string, { environment: Record<string, string> }> }> {
  const folder = await mkdtemp(join(tmpdir(), "berth-compose-"));
  try {
    const file = join(folder, "compose.json");
    await writeFile(file, yamlText(document));
    const [program, ...args] = composeArgv(
      { deploymentUuid: "d1", folder, argv: ["config", "--format", "json"] },
      file,
    );
    const { stdout } = await run(program, args, { env: { PATH, HOME: folder }, maxBuffer: 64 << 20 });
    return JSON.parse(stdout, (_key, value: unknown) =>
      typeof value === "string" ? value.replaceAll("$$", "$") : value,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe.skipIf(!hasCompose)("the real compose tool", () => {
  /** Values that can be stored: no NUL, no unpaired surrogates. */
  const value = fc
    .oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.string({
        unit: fc.constantFrom(
          "$",
          "{",
          "}",
          "A",
          "\\",
          '"',
          "'",
          "#",
          ":",
          " ",
          "\n",
          "\r",
          "\t",
          "\u0085",
          "\u2028",
          "\ufeff",
        ),
        maxLength: 20,
      }),
    )
    .filter((text) => !text.includes("\0") && text.isWellFormed());

  test("gives containers variables byte for byte, wherever they come from", async () => {
    const text = `services: { web: { image: a, environment: { SAID: "<\${VALUE}>", PLAIN: $VALUE } } }`;
    const property = fc.asyncProperty(fc.array(value, { minLength: 20, maxLength: 60 }), async (values) => {
      const env = Object.fromEntries(values.map((one, at) => [`V${at}`, one]));
      const [first = ""] = values;
      const spec = stackSpec(text, { containers: { web: { env } }, stack: { variables: { VALUE: first } } });
      const { document } = planStack(spec, composeOf(text), "i");
      const { environment = {} } = (await read(document)).services.web ?? {};
      expect(environment).toEqual({
        ...env,
        SAID: `<${first}>`,
        PLAIN: first,
        BERTH_DEPLOYMENT_UUID: spec.deploymentUuid,
      });
    });
    // Each run takes a quarter of a second, so each tests many values.
    await fc.assert(property, { numRuns: 12 });
  });

  test("takes what a text says with variables as if it stood there", async () => {
    const text = `
services:
  web:
    image: a:\${TAG:-1}
    init: "\${INIT}"
    deploy: { replicas: 3, resources: { limits: { memory: "\${MEMORY}" } } }
    healthcheck: { test: ["CMD", "x"], retries: "\${RETRIES}", interval: 5s }
    ports: ["\${PORT}:80"]
    labels: { rule: "Host(\`a\`) && $$x" }
`;
    const variables = { INIT: "true", MEMORY: "64m", RETRIES: "4", PORT: "8080" };
    const { document } = planStack(stackSpec(text, { stack: { variables } }), composeOf(text), "i");
    expect((await read(document)).services.web).toMatchObject({
      image: "a:1",
      init: true,
      deploy: { resources: { limits: { memory: String(64 << 20) } } },
      healthcheck: { retries: 4 },
      ports: [{ target: 80, published: "8080" }],
      labels: { rule: "Host(`a`) && $x" },
    });
  });
});

test("is told nothing of a user by its arguments", () => {
  const argv = composeArgv({ deploymentUuid: "d1", folder: "/job", argv: ["up", "--detach"] }, "/job/compose.json");
  expect(argv).toEqual([
    ...["docker", "compose", "--ansi", "never", "--progress", "plain", "--project-name", "berth-d1"],
    ...["--project-directory", "/job", "--file", "/job/compose.json", "up", "--detach"],
  ]);
});
