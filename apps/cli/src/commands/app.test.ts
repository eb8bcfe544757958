import { expect, test } from "vitest";
import { Refusal, ranWith } from "../answers.fixture.ts";

test.each([["create"], ["new"]])("app %s, where no application is called so, says how one is made", async (word) => {
  const answers = {
    "applications.list": () => [{ uuid: "a1", name: "shop", environment_name: "production", urls: [] }],
    "databases.list": () => [],
    "services.list": () => [],
  };
  const ran = await ranWith(answers, ["app", word]);
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining("with: berth deploy\n")]);
});

const NOW = "2026-01-01T00:00:00.000000Z";
const shop = {
  ...{ uuid: "a1", name: "shop", status: "running:healthy", urls: [], source: "upload" },
  ...{ environment_name: "production", destination: { server: { name: "docker" } }, replicas: 1 },
  ...{ restart_count: 0, last_restart_at: null, created_at: NOW, updated_at: NOW },
  ...{ scale_problem: null, status_problem: null, url_problem: null, certificate_problem: null },
};

test("app shows the databases that its variables refer to", async () => {
  const attached = [
    ["shopdb", "DATABASE_URL"],
    ["shopdb", "DATABASE_URL"],
    ["shopdb", "READER_URL"],
    ["cache", "REDIS_URL"],
  ].map(([database_name, key]) => ({ database_name, key }));
  const answers = (attachments: readonly object[]) => ({
    "applications.list": () => [shop],
    "rollbacks.images": () => ({ current: null, images: [] }),
    "applications.attachments.list": () => attachments,
  });
  const used = await ranWith(answers(attached), ["app", "shop"]);
  expect(used.stdout).toMatch(/^Databases +shopdb \(DATABASE_URL, READER_URL\), cache \(REDIS_URL\)$/m);
  expect((await ranWith(answers([]), ["app", "shop"])).stdout).not.toContain("Databases");
});

test.each([
  [0, null, [], /^Restarts +0$/m],
  [2, NOW, [{ name: null, exit_code: 137 }], /^Restarts +2, the last \d+ days ago, with exit code 137$/m],
  [
    1,
    NOW,
    [
      { name: "web", exit_code: 1 },
      { name: "db", exit_code: null },
    ],
    /ago, with exit code web: 1$/m,
  ],
  [2, NOW, [], /^Restarts +2, the last \d+ days ago$/m],
])("app shows %i restarts, with how the last run ended", async (restart_count, last_restart_at, containers, shown) => {
  const answers = {
    "applications.list": () => [{ ...shop, restart_count, last_restart_at }],
    "applications.containers.list": () => containers,
    "rollbacks.images": () => ({ current: null, images: [] }),
    "applications.attachments.list": () => [],
  };
  expect((await ranWith(answers, ["app", "shop"])).stdout).toMatch(shown);
});

test("app shows an application whose server is out of reach", async () => {
  const answers = {
    "applications.list": () => [{ ...shop, restart_count: 2, last_restart_at: NOW }],
    "applications.containers.list": () => {
      throw new Refusal("Server web-1 cannot be reached.", "engine.unreachable", 503);
    },
    "rollbacks.images": () => ({ current: null, images: [] }),
    "applications.attachments.list": () => [],
  };
  const { exitCode, stdout } = await ranWith(answers, ["app", "shop"]);
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^Restarts +2, the last \d+ days ago$/m)]);
});
