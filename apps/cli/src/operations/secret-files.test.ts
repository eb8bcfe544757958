import { expect, test } from "vitest";
import { answering } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";

const KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----";

/** @returns The body that the server got, and how the command ended. */
async function sentBy(argv: readonly string[], place: { readonly cwd?: string; readonly input?: string }) {
  const bodies: unknown[] = [];
  await using server = await answering({}, (reply, body) => {
    bodies.push(JSON.parse(body));
    reply.writeHead(201, { "content-type": "application/json" }).end('{"uuid":"k1"}');
  });
  return { ...(await server.run(argv, place)), bodies };
}

const CREATE = ["private-keys", "create", "--name", "deploy"];

test("a secret is read from a file", async () => {
  using folder = temporaryFolder({ id: `${KEY}\n` });
  const { bodies } = await sentBy([...CREATE, "--private-key-file", "id"], { cwd: folder.path });
  expect(bodies).toEqual([{ name: "deploy", private_key: KEY }]);
});

test("a secret is read from standard input", async () => {
  const { bodies } = await sentBy([...CREATE, "--private-key-file", "-"], { input: `${KEY}\n` });
  expect(bodies).toEqual([{ name: "deploy", private_key: KEY }]);
});

test("standard input is read for one value only, and a file that is not there is named", async () => {
  const both = ["--private-key-file", "-", "--http-basic-auth-password-file", "-"];
  const twice = await sentBy([...CREATE, ...both], { input: KEY });
  expect([twice.exitCode, twice.bodies]).toEqual([2, []]);
  expect(twice.stderr).toContain("Standard input can be read for one value only.");
  const missing = await sentBy([...CREATE, "--private-key-file", "/nowhere/id"], {});
  expect([missing.exitCode, missing.bodies]).toEqual([1, []]);
  expect(missing.stderr).toContain("/nowhere/id cannot be read.");
});

test("other fields have no flag for a file", async () => {
  const { exitCode, stderr } = await sentBy([...CREATE, "--description-file", "-"], {});
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--description-file")]);
});
