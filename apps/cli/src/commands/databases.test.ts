import { describe, expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { reportKept } from "./lifecycle.ts";

const PROJECT = { uuid: "p1", name: "Shop", environments: [{ uuid: "e1", name: "production" }] };
const SERVER = {
  ...{ uuid: "s1", name: "docker", engine: "docker", is_coolify_host: true, swarm_cluster: null },
  settings: { is_build_server: false, is_reachable: true, is_usable: true },
};
const of = (project: string, environment: string) => ({
  ...{ uuid: "d1", name: "orders", project_uuid: project, environment_name: environment },
});
const answersWith = (existing: object) => ({
  "servers.list": () => [SERVER],
  "projects.list": () => [PROJECT],
  "projects.get": () => PROJECT,
  "databases.list": () => [existing],
  "databases.create.postgresql": () => ({ uuid: "d2", internal_db_url: "postgres://d2" }),
  "databases.get": () => ({ uuid: "d2", name: "orders", public_port_problem: null }),
  "services.list": () => [existing],
  "services.createOneClick": () => ({ uuid: "d2", domains: [] }),
  "services.get": () => ({ uuid: "d2", name: "orders", applications: [] }),
  "services.envs.list": () => [],
});

describe.each([
  ["database", ["db", "create", "postgresql"], "databases.create.postgresql", "berth db url orders"],
  ["service", ["service", "create", "wordpress"], "services.createOneClick", "berth services get orders"],
])("a %s of a name", (kind, words, creation, remedy) => {
  const created = (existing: object) => ranWith(answersWith(existing), [...words, "orders", "--no-start"]);

  test("that its environment has is not made a second time, which nothing could name", async () => {
    const ran = await created(of("p1", "production"));
    expect(ran.called).not.toContain(creation);
    expect([ran.exitCode, ran.stdout]).toEqual([1, ""]);
    expect(ran.stderr).toContain(`There is a ${kind} orders in Shop/production already.\n`);
    expect(ran.stderr).toContain(remedy);
  });

  test.each([
    ["p2", "production"],
    ["p1", "staging"],
  ])("that only %s/%s has is made", async (project, environment) => {
    const ran = await created(of(project, environment));
    expect(ran.called).toContain(creation);
    expect([ran.exitCode, ran.stderr]).toEqual([0, ""]);
  });
});

test("a password of a database is read from a file, which the list of processes does not show", async () => {
  using folder = temporaryFolder({ password: "s3cret 'x'\n" });
  const bodies: unknown[] = [];
  const made = (input: object) => {
    bodies.push(input);
    return { uuid: "d2", internal_db_url: "postgres://d2" };
  };
  const answers = { ...answersWith(of("p2", "production")), "databases.create.postgresql": made };
  const words = ["db", "create", "postgresql", "orders", "--no-start", "--postgres-password-file", "password"];
  const ran = await ranWith(answers, words, { cwd: folder.path });
  expect([ran.exitCode, ran.stderr]).toEqual([0, ""]);
  expect(bodies).toEqual([expect.objectContaining({ name: "orders", postgres_password: "s3cret 'x'" })]);
});

test.each([
  ["database", "db"],
  ["service", "services"],
] as const)("a %s whose first deployment failed is kept, and its next commands are named", (kind, group) => {
  const lines: string[] = [];
  reportKept({ line: (text) => void lines.push(text) }, kind, "orders");
  expect(lines[0]).toBe(`The ${kind} orders is kept, and nothing of it runs.`);
  expect(lines.slice(1).map((line) => line.split(":")[1]?.trim())).toEqual([
    `berth ${group} start orders`,
    `berth ${group} delete orders`,
  ]);
});
