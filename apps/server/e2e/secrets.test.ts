import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Canaries, plantCanaries, until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createApplication,
  type Outcome,
  outcomeOf,
  placeOf,
  requestDeployment,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Its build and its start print their environments, including the secret. */
const repository = temporaryRepository({
  "package.json": JSON.stringify({
    name: "telling",
    version: "1.0.0",
    scripts: { build: "node -e 'console.log(process.env.SECRET)' && sleep 0.3", start: "node server.js" },
  }),
  "server.js": `
    console.log(process.env.SECRET);
    require("node:http").createServer((request, response) => response.end("fine")).listen(process.env.PORT);
    process.on("SIGTERM", () => process.exit(0));
  `,
});
// Told apart from a secret only by being none: what is looked through must hold it.
const NO_SECRET = "visible-everywhere";

describe("a secret given to a running server", () => {
  let server: TestServer;
  let planted: Canaries;
  let outcome: Outcome;
  const seen = new Set<string>();
  const refused: string[] = [];
  beforeAll(async () => {
    server = await testServer({ env: { BERTH_LOG: "debug" } });
    const place = await placeOf(server);
    const made = async (path: string, body: object) => {
      const answer = await server.rest("POST", path, body);
      // No cloud provider answers here, and a refusal must not reveal the token either.
      if (answer.status !== 201) refused.push(`${path} ${JSON.stringify(answer.body)}`);
      return (answer.body as { uuid?: string }).uuid ?? "";
    };
    planted = await plantCanaries({
      made,
      changed: (path, body) => server.rest("PATCH", path, body),
      application: async (fields) => {
        // Each is there long enough to be seen.
        const command = `sleep 0.3 && test -n "$SECRET"`;
        const commands = { pre_deployment_command: command, post_deployment_command: command };
        const settings = { name: NO_SECRET, build_command: "npm run build", ...commands, ...fields };
        return (await createApplication(server, repository, settings)).uuid;
      },
      where: place,
      privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 })
        .privateKey.export({ type: "pkcs1", format: "pem" })
        .toString(),
    });
    const first = await requestDeployment(server, planted.made.application);
    let isOver = false;
    const watching = until(
      () => {
        for (const line of commandLines()) seen.add(line);
        return isOver;
      },
      { seconds: 120 },
    );
    await outcomeOf(server, first);
    // With a previous release, in which commands can be run.
    outcome = await outcomeOf(server, await requestDeployment(server, planted.made.application));
    isOver = true;
    await watching;
  });
  afterAll(async () => {
    await server.dispose();
    repository.dispose();
  });

  const found = (text: string) =>
    [...planted.texts].filter(([, secret]) => text.includes(secret)).map(([field]) => field);

  it("reaches the build and what runs", () => {
    expect([outcome.status, outcome.error], outcome.log).toEqual(["finished", null]);
    expect(outcome.log).toContain("[REDACTED]");
    expect(refused.map((line) => line.split(" ")[0])).toEqual(["/cloud-tokens"]);
  });

  it("is in no line of the server's log, at its most talkative", () => {
    expect(server.output()).toContain(`debug `);
    expect(server.output()).toContain(outcome.uuid);
    expect(found(server.output())).toEqual([]);
  });

  it("is in the arguments of no process", () => {
    const lines = [...seen].join("\n");
    for (const program of ["npm run build", "console.log(process.env.SECRET)", "sleep 0.3"])
      expect(lines).toContain(program);
    expect(found(lines)).toEqual([]);
  });

  it("is in no log of a deployment and no error", async () => {
    expect(found(outcome.log)).toEqual([]);
    const { application } = planted.made;
    const secret = planted.of("refused");
    const answers = [
      await server.rest("POST", `/applications/${application}/envs`, { key: "no key", value: secret }),
      await server.rest("POST", "/security/keys", { private_key: secret }),
      await server.rest("PATCH", `/applications/${application}`, { http_basic_auth_password: secret.repeat(5000) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422]);
    expect(found(JSON.stringify([answers, refused]))).toEqual([]);
    expect(found(server.output())).toEqual([]);
  });

  it("stands in clear nowhere in the files of the database", async () => {
    await server.stop();
    const database = join(server.dataFolder, "database");
    const held = new Set<string>();
    for (const file of filesBelow(database)) {
      const content = readFileSync(file);
      if (content.includes(NO_SECRET)) held.add(NO_SECRET);
      for (const [field, text] of planted.texts) if (content.includes(text)) held.add(field);
    }
    expect([...held]).toEqual([NO_SECRET]);
  });
});

/** Command lines of all processes on this machine. */
function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return []; // it has ended
      }
    });
}

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
