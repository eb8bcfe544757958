import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

test.each([["deployments"], ["deployments list"], ["releases"]])(
  "%s without a waiting or running one says how to list the others",
  async (words) => {
    const ran = await ranWith({ "deployments.list": () => [] }, words.split(" "));
    expect([ran.exitCode, ran.stdout]).toEqual([0, expect.stringContaining("berth deployments NAME\n")]);
  },
);

test("the list of the team is read in parts", async () => {
  const answers = { "deployments.list": (input: object) => (Object.keys(input).length > 0 ? [] : [input]) };
  for (const words of [["deployments"], ["deployments", "list"]])
    expect((await ranWith(answers, [...words, "--take", "5", "--skip", "1", "--json"])).stdout).toBe("[]\n");
});

test.each([
  ["db", "listByDatabase"],
  ["garage", "listByService"],
])("those of %s are listed, which is not an application", async (name, list) => {
  const deployment = {
    ...{ deployment_uuid: "d1", application_name: name, server_id: 1, server_name: "s", status: "finished" },
    ...{ commit: "HEAD", commit_message: null, error: null },
    ...{ created_at: "2026-01-01T00:00:00Z", started_at: null, finished_at: null },
  };
  const answers = {
    "applications.list": () => [],
    "databases.list": () => [{ uuid: "d", name: "db", status: "running" }],
    "services.list": () => [{ uuid: "s", name: "garage", status: "running" }],
    [`deployments.${list}`]: () => ({ count: 1, deployments: [deployment] }),
  };
  const ran = await ranWith(answers, ["deployments", name]);
  expect([ran.exitCode, ran.stdout]).toEqual([0, expect.stringMatching(`d1 +${name} +finished`)]);
});
