import { describe, expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const env = (key: string, is_preview = false) => ({ uuid: key, key, value: "1", is_preview });
const answers = {
  "applications.list": () => [{ uuid: "a1", name: "shop" }],
  "applications.envs.list": () => [env("DATABASE_URL"), env("GREETING"), env("GREETINGS", true)],
};

test.each([
  ["rm", ["DATABSE_URL"], "shop has no variable DATABSE_URL. Did you mean DATABASE_URL?\n"],
  ["rm", ["greeting", "database_url"], "greeting, database_url. Did you mean GREETING, DATABASE_URL?\n"],
  ["rm", ["TOTALLY_ELSE"], "shop has no variable TOTALLY_ELSE.\n"],
  ["get", ["GREETIN"], "shop has no variable GREETIN. Did you mean GREETING?\n"],
])("env %s %j of keys that do not exist names those like them, and removes nothing", async (verb, keys, said) => {
  const ran = await ranWith(answers, ["env", verb, ...keys, "--app", "shop"]);
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(ran.called).not.toContain("applications.envs.delete");
});

test("env unset removes the copy for previews, unless that has a value of its own", async () => {
  const preview = (key: string, value?: string) => ({ ...env(key, true), uuid: `preview-${key}`, value });
  const all = [...["SAME", "OTHER", "HIDDEN"].map((key) => env(key)), preview("SAME", "1"), preview("OTHER", "2")];
  const removed: unknown[] = [];
  const ran = await ranWith(
    {
      ...answers,
      "applications.envs.list": () => [...all, preview("HIDDEN")],
      "applications.envs.delete": ({ env_uuid }) => removed.push(env_uuid),
    },
    ["env", "unset", "SAME", "OTHER", "HIDDEN", "--app", "shop"],
  );
  expect(removed).toEqual(["SAME", "preview-SAME", "OTHER", "HIDDEN"]);
  expect(ran.stdout).toBe(
    "shop: removed SAME. Its copy for previews is removed too.\nshop: removed OTHER.\nshop: removed HIDDEN.\n",
  );
});

test("env warns of references without a value when they are set, and in the list", async () => {
  const lost = { ...env("A"), reference_problem: "{{ team.NONE }} has no target." };
  const both = { ...answers, "applications.envs.list": () => [lost, env("B"), { ...lost, is_preview: true }] };
  const listed = await ranWith(both, ["env", "list", "shop"]);
  expect(listed.stderr).toBe("Warning: A: {{ team.NONE }} has no target.\n");
  const set = await ranWith(
    {
      "applications.list": () => [{ uuid: "a1", name: "shop", source: "upload", status: "exited:unhealthy" }],
      "applications.envs.updateBulk": () => [lost],
      "deployments.listByApplication": () => ({ count: 0, deployments: [] }),
    },
    ["env", "set", "A={{ team.NONE }}", "--app", "shop"],
  );
  expect([set.exitCode, set.stderr]).toEqual([0, "Warning: A: {{ team.NONE }} has no target.\n"]);
});

describe("env set of a name and a word", () => {
  const answersOfPair = {
    ...{ "databases.list": () => [], "services.list": () => [], "applications.envs.updateBulk": () => [] },
    "applications.list": () => [{ uuid: "a1", name: "shop", environment_name: "production", urls: [] }],
  };
  test.each([
    [
      ["GREETING", "hello"],
      "No application is called GREETING.\n  To set the variable GREETING, write GREETING=VALUE\n",
    ],
    [["my-app", "hello"], "hello has no value: standard input is empty."],
    [["shop", "hello"], "hello has no value: standard input is empty."],
  ])("%j says what is missing, and sets nothing", async (words, said) => {
    const ran = await ranWith(answersOfPair, ["env", "set", ...words]);
    expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining(said)]);
    expect(ran.called).not.toContain("applications.envs.updateBulk");
  });

  test("is a variable of that application whose value is read", async () => {
    const ran = await ranWith(answersOfPair, ["env", "set", "shop", "SECRET"], { input: "s" });
    expect(ran.called).toContain("applications.envs.updateBulk");
  });
});

describe("the command that makes a change effective", () => {
  const restart = "Where only the running program reads it, this is enough: berth restart shop\n";
  const finished = { status: "finished" };
  const failed = { status: "failed" };

  test.each<[string, string, readonly object[], number, boolean]>([
    ["while it runs", "running:healthy", [], 0, true],
    ["once it was stopped", "exited:unhealthy", [failed, finished], 2, true],
    ["after more deployments than are listed", "exited:unhealthy", [failed], 11, true],
    ["after a first deployment that failed", "exited:unhealthy", [failed], 1, false],
    ["before the first deployment", "exited:unhealthy", [], 0, false],
  ])("%s, with the status %s", async (_when, status, deployments, count, isEnough) => {
    const ran = await ranWith(
      {
        "applications.list": () => [{ uuid: "a1", name: "shop", source: "upload", status }],
        "applications.envs.updateBulk": () => [env("A")],
        "deployments.listByApplication": () => ({ count, deployments }),
      },
      ["env", "set", "A=1", "--app", "shop"],
    );
    const deploy = "It takes effect with the next deployment: berth deploy FOLDER --app shop\n";
    expect(ran.stdout).toBe(`shop: set A.\n${deploy}${isEnough ? restart : ""}`);
  });
});
