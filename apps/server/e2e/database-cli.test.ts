import type { Argv } from "@berth/core";
import { describeDocker, TEST_CLIENTS, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth, type Ran } from "../../cli/e2e/cli.fixture.ts";
import { askClient } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const { image, write, read } = TEST_CLIENTS.postgresql;
const EMPTIED: Argv = ["--no-psqlrc", "--quiet", "--command=DELETE FROM t"];

describeDocker("a database, from the command line", [image], (docker) => {
  let server: DockerServer;
  const network = docker.name("shell");
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: network } });
  }, 120_000);
  afterAll(async () => server?.dispose());

  const run = (...argv: readonly string[]): Promise<Ran> =>
    berth(argv, {
      cwd: server.dataFolder,
      env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
    });
  const ask = (argv: Argv) => askClient(docker, { image, networkMode: network }, argv);
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
  }, 180_000);
});
