import { expect, test } from "vitest";
import { answering } from "../answers.fixture.ts";

test.each([
  [404, '{"message":"Not found."}', '{"message":"Not found."}\n', "GET /nosuch answered 404.\n"],
  [404, '{"message":"Not found."}\n', '{"message":"Not found."}\n', "GET /nosuch answered 404.\n"],
  [404, "", "", "GET /nosuch answered 404.\n"],
  [200, "bytes", "bytes", ""],
])("an answer %i of %j ends its line where a sentence follows", async (status, body, stdout, stderr) => {
  await using server = await answering({}, (reply) => void reply.writeHead(status).end(body));
  expect(await server.run(["api", "GET", "/nosuch"])).toMatchObject({ stdout, stderr });
});
