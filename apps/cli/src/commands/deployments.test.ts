import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

test.each([["deployments"], ["deployments list"], ["releases"]])(
  "%s without a waiting or running one says how to list the others",
  async (words) => {
    const ran = await ranWith({ "deployments.list": () => [] }, words.split(" "));
    expect([ran.exitCode, ran.stdout]).toEqual([0, expect.stringContaining("berth deployments APP\n")]);
  },
);

test("the list of the team is read in parts", async () => {
  const answers = { "deployments.list": (input: object) => (Object.keys(input).length > 0 ? [] : [input]) };
  for (const words of [["deployments"], ["deployments", "list"]])
    expect((await ranWith(answers, [...words, "--take", "5", "--skip", "1", "--json"])).stdout).toBe("[]\n");
});
