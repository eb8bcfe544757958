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
