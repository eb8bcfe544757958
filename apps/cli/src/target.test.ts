import { expect, test } from "vitest";
import { answering, Refusal, ranWith } from "./answers.fixture.ts";
import { saveLink } from "./application-link.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

const GONE = {
  "applications.get": () => {
    throw new Refusal("Application not found.", "resource.not_found", 404);
  },
};

test("the folder of a deleted application says that it is no longer there", async () => {
  using folder = temporaryFolder();
  await using server = await answering(GONE);
  await saveLink(folder.path, { url: server.url, uuid: "a1", name: "shop" });
  const { exitCode, stderr } = await server.run(["status"], { cwd: folder.path });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`shop, which is no longer on ${server.url}.`)]);
  expect(stderr).toContain("It was deleted");
});

test("the folder of an application on another server names that server", async () => {
  using folder = temporaryFolder();
  await saveLink(folder.path, { url: "http://berth.test", uuid: "a1", name: "shop" });
  const { exitCode, stderr, url } = await ranWith(GONE, ["status"], { cwd: folder.path });
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining(`shop on http://berth.test, which is not on ${url}.`),
  ]);
});
