import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";

test("a folder in place of a repository's address is refused, and both that could be meant are named", async () => {
  using folder = temporaryFolder({ "site/index.html": "" });
  const ran = await ranWith({}, ["deploy", "--git", "./site"], { cwd: folder.path });
  expect([ran.exitCode, ran.called]).toEqual([2, []]);
  expect(ran.stderr).toContain("berth deploy ./site\n");
  expect(ran.stderr).toContain(`berth deploy --git file://${folder.path}/site\n`);
});

test.each([
  ["--server", "web-2"],
  ["--environment", "staging"],
  ["--project", "Shop"],
])("another place than the application's, by %s, is refused, and how to move it is said", async (flag, place) => {
  using folder = temporaryFolder({ "index.html": "" });
  const application = {
    ...{ uuid: "a1", name: "shop", source: "git", urls: [], destination: { server: { name: "web-1" } } },
    ...{ project_uuid: "p1", environment_uuid: "e1", environment_name: "production", server_uuid: "s1" },
  };
  const answers = {
    "applications.list": () => [application],
    "applications.get": () => application,
    "projects.list": () => [{ uuid: "p1", name: "My project" }],
  };
  const ran = await ranWith(answers, ["deploy", "--app", "shop", flag, place], { cwd: folder.path });
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining(`berth move shop ${flag} ${place}\n`)]);
});
