import type { Argv } from "@berth/core";
import { describeLargeDocker, TEST_CLIENTS, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth, type Ran } from "../../cli/e2e/cli.fixture.ts";
import { askClient } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const { image, write, read } = TEST_CLIENTS.postgresql;
const EMPTIED: Argv = ["--no-psqlrc", "--quiet", "--command=DELETE FROM t"];

const IMAGE = ["--docker-registry-image-name", "nginx", "--ports-exposes", "80"];

describeLargeDocker("a database, from the command line", [image], (docker) => {
  let server: DockerServer;
  const network = docker.name("shell");
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: network } });
  });
  afterAll(async () => server?.dispose());

  const run = (...argv: readonly string[]): Promise<Ran> =>
    berth(argv, {
      cwd: server.dataFolder,
      env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
    });
  const ask = (argv: Argv) => askClient(docker, { image, networkMode: network }, argv);
  const hasImage = async (name: string) =>
    (await docker.client.listImages()).some(({ RepoTags }) => RepoTags?.includes(name));
  /** A failed attempt leaves its database behind. */
  let tries = 0;

  test("is created, saved, proven, and restored after its rows were deleted", async () => {
    tries += 1;
    const name = `orders${tries}`;
    const flags = ["--postgres-db", "shop", "--image", image, "--health-check-interval", "1"];
    const patience = ["--health-check-retries", "60"];
    const created = await run("db", "create", "postgresql", name, ...flags, ...patience);
    expect(created, created.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("Deployed in ") });
    const url = (await run("db", "url", name)).stdout.trim();
    expect(created.stdout).toContain(`In its network:  ${url}`);
    expect(await ask(write(url, "kept"))).toEqual([0, expect.anything()]);

    expect(await run("restart", name.toUpperCase())).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining(`${name} is a database, not an application.\n`) },
    });
    expect(await run("backup", "restore", name, "--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${name} has no good backup.`),
    });
    const unscheduled = await run("backup", "run", name);
    expect(unscheduled, unscheduled.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("no schedule") });
    expect((await run("backup", "schedule", name, "daily")).code).toBe(0);
    const saved = await run("backup", "run", name);
    expect(saved, saved.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Saved shop: .*, server\.$/m),
    });
    const backup = /^ {2}backup {2}(\w+)$/m.exec(saved.stdout)?.[1] ?? "";
    expect((await run("backup", "list", name)).stdout).toMatch(new RegExp(`^success .* shop .* ${backup}`, "m"));

    const drilled = await run("backup", "drill", name);
    expect(drilled, drilled.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("The backup is good") });
    expect(drilled.stdout).toMatch(/^public\.t +1 +1$/m);

    expect((await ask(["psql", url, ...EMPTIED]))[0]).toBe(0);
    const unconfirmed = await run("backup", "restore", name, backup);
    expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(await ask(read(url))).toEqual([0, ""]);
    const restored = await run("backup", "restore", name, backup, "--yes");
    expect(restored, restored.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Restored into ${name}`),
    });
    expect(await ask(read(url))).toEqual([0, "kept"]);

    expect(await run("backup", "cancel", name)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(`No backup, restore or drill of ${name} is running.`) },
    });
    const held = ask(["psql", url, "--command=BEGIN; LOCK TABLE t; SELECT pg_sleep(3600)"]).catch(() => undefined);
    const isHeld = ["psql", url, "-Atc", "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock'"] as const;
    await until(async () => (await ask(isHeld))[1] === "1");
    const restoring = run("backup", "restore", name, backup, "--yes");
    const isWaiting = ["psql", url, "-Atc", "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"] as const;
    await until(async () => (await ask(isWaiting))[1] === "t", { seconds: 60 });
    const cancelled = await run("backup", "cancel", name);
    expect(cancelled, cancelled.stderr).toMatchObject({ code: 0 });
    expect(cancelled.stdout).toMatch(
      /^Restore cancelled successfully\.\nCancelled by a user\. .* database is unchanged\.$/m,
    );
    expect(await restoring).toMatchObject({ code: 1, stderr: expect.stringContaining("Cancelled by a user.") });
    const others = "query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
    await ask(["psql", url, "-c", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`]);
    await held;
    expect(await ask(read(url))).toEqual([0, "kept"]);
  });

  test("answers its own client, is attached to an application, and kept while that uses it", async () => {
    tries += 1;
    const name = `shop${tries}`;
    const flags = ["--image", image, "--health-check-interval", "1", "--health-check-retries", "60"];
    const created = await run("db", "create", "postgresql", name, ...flags);
    expect(created, created.stderr).toMatchObject({ code: 0 });
    const asked = await run("db", "psql", name, "-c", "SELECT 40 + 2 AS answer");
    expect(asked, asked.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("42") });
    const wrong = await run("db", "psql", name, "-c", "SELECT nope");
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('"nope" does not exist') });
    expect(await run("db", "redis-cli", name, "-c", "PING")).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("berth db psql ") },
    });

    const place = ["--project-uuid", "My project", "--environment-name", "production", "--server-uuid", "docker"];
    const user = `web${tries}`;
    const made = await run("applications", "create", "image", "--name", user, ...place, ...IMAGE);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    const attached = await run("db", "attach", name, user, "--as", "SHOP_URL");
    expect(attached, attached.stderr).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining(`${user}: SHOP_URL is {{ database.${name}.url }}`) },
    });
    expect((await run("db", "attachments", "list", name)).stdout).toContain("SHOP_URL");
    expect((await run("env", "get", "SHOP_URL", "--app", user)).stdout.trim()).toBe(`{{ database.${name}.url }}`);
    const changed = await run("db", "update", name, "--postgres-password", "another");
    expect(changed.stdout).toContain(`with: berth db restart ${name}\n`);
    expect(changed.stdout).toContain(`After that, give its new URL to what uses it:\n  berth restart ${user}\n`);
    const renamed = await run("db", "update", name, "--description", "of the shop");
    expect(renamed, renamed.stderr).toMatchObject({ code: 0, stdout: expect.not.stringContaining("berth db restart") });
    const refused = await run("db", "delete", name, "--yes");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(user) });
    const detached = await run("db", "detach", name, user);
    expect(detached, detached.stderr).toMatchObject({ code: 0 });
    expect((await run("env", "get", "SHOP_URL", "--app", user)).code).toBe(2);
    expect((await run("db", "delete", name, "--yes")).code).toBe(0);
  });

  test.for([
    ["mysql", "mysql", "SELECT 40 + 2 AS answer", expect.stringContaining("42")],
    ["redis", "redis-cli", "ECHO 42", expect.stringContaining("42")],
  ] as const)("of %s answers its own client, %s", async ([engine, client, statement, answer], { skip }) => {
    const { image: own } = TEST_CLIENTS[engine];
    if (!(await hasImage(own))) return skip(`${own} is not there`);
    tries += 1;
    const name = `${engine}${tries}`;
    const flags = ["--image", own, "--health-check-interval", "1", "--health-check-retries", "60"];
    const created = await run("db", "create", engine, name, ...flags);
    expect(created, created.stderr).toMatchObject({ code: 0 });
    const asked = await run("db", client, name, "-c", statement);
    expect(asked, asked.stderr).toMatchObject({ code: 0, stdout: answer });
  });

  test("of ClickHouse reads several statements, and passes on how its client ended", async ({ skip }) => {
    if (!(await hasImage(TEST_CLIENTS.clickhouse.image))) return skip(`${TEST_CLIENTS.clickhouse.image} is not there`);
    tries += 1;
    const name = `columns${tries}`;
    const flags = ["--image", TEST_CLIENTS.clickhouse.image, "--health-check-interval", "1"];
    const secret = ["--clickhouse-admin-password", "a#b{c}"];
    const created = await run("db", "create", "clickhouse", name, ...flags, ...secret, "--health-check-retries", "60");
    expect(created, created.stderr).toMatchObject({ code: 0 });
    const asked = await run("db", "clickhouse-client", name, "-c", "SELECT 41;\nSELECT 42;");
    expect(asked, asked.stderr).toMatchObject({ code: 0, stdout: "41\n42\n" });
    expect((await run("db", "clickhouse-client", name, "-c", "SELECT nope")).code).toBe(1);
  });
});
