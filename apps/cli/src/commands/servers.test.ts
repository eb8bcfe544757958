import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

test.each([
  [true, true, /yes +u1$/],
  [true, false, /does not answer +u1$/],
  [false, false, /no +u1$/],
])("the list says whether a server can be used (%o) and answers (%o)", async (is_usable, is_reachable, line) => {
  const server = { uuid: "u1", name: "web-1", ip: "10.0.0.1", engine: "docker", settings: { is_usable, is_reachable } };
  const { exitCode, stdout } = await ranWith({ "servers.list": () => [server] }, ["servers"]);
  expect([exitCode, stdout.trimEnd().split("\n").at(-1)]).toEqual([0, expect.stringMatching(line)]);
});
