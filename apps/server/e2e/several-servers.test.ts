import { copyFileSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  describeDocker,
  SERVER_IMAGE,
  type ServerContainer,
  startServerContainer,
  type TestDatabase,
  testDatabase,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deployFirst, made, placeOf } from "./applications.fixture.ts";
import { sshServer } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

interface TaskRun {
  readonly uuid: string;
  readonly status: string;
}

const COMPOSE = `
services:
  worker:
    image: busybox:stable
    init: true
    command: ["sleep", "86400"]
    volumes: ["data:/data"]
volumes: { data: }
`;
const IMAGES = [SERVER_IMAGE, "busybox:stable", "postgres:17-alpine", "caddy:2"];
const MINUTE_MS_MAX = 100_000;

describeDocker("two control planes on one database", IMAGES, (docker) => {
  let database: TestDatabase;
  let machine: ServerContainer;
  let servers: readonly [TestServer, TestServer];
  let service: string;
  let postgres: string;

  beforeAll(async () => {
    [database, machine] = await Promise.all([testDatabase({ backend: "tcp" }), startServerContainer(docker)]);
    const env = { BERTH_DATABASE_URL: database.url };
    const first = await testServer({ env });
    const dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
    copyFileSync(join(first.dataFolder, "secret.key"), join(dataFolder, "secret.key"));
    servers = [first, await testServer({ env, dataFolder })];
    const server_uuid = await sshServer(first, machine, "web-1");
    await machine.loadImages("postgres:17-alpine");
    const where = { ...(await placeOf(first)), server_uuid };
    const image = { image: "postgres:17-alpine", health_check_interval: 1, health_check_retries: 60 };
    [service, postgres] = await Promise.all([
      made(first, "/services", { ...where, docker_compose: COMPOSE }),
      made(first, "/databases/postgresql", { ...where, ...image }),
    ]);
    await Promise.all([service, postgres].map((uuid) => deployFirst(first, uuid)));
  });
  afterAll(async () => {
    for (const server of servers ?? []) await server.dispose();
    await database?.close();
  });

  /** Runs of a task and a schedule as reported, and as they happened. */
  async function runsOf(server: TestServer, task: string, schedule: string) {
    const { body: ran } = await server.rest("GET", `/services/${service}/scheduled-tasks/${task}/executions`);
    const { body: saved } = await server.rest("GET", `/databases/${postgres}/backups/${schedule}/executions`);
    const filter = ["--filter", `label=berth.resource=${service}`];
    const { output: id } = await machine.exec(["docker", "ps", "-q", ...filter]);
    const { output } = await machine.exec([
      "docker",
      "exec",
      id.trim(),
      "sh",
      "-c",
      "cat /data/runs 2>/dev/null || true",
    ]);
    // The folder is made with the first backup.
    const folders = servers.map(({ dataFolder }) => join(dataFolder, "backups")).filter((folder) => existsSync(folder));
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes(".dump")),
    );
    return {
      tasks: ran as TaskRun[],
      backups: (saved as { executions: TaskRun[] }).executions,
      lines: output.split("\n").filter((line) => line !== ""),
      files,
    };
  }

  test("each run of a task and each backup is made once, also when the one that made them is killed", async () => {
    const [first, second] = servers;
    const command = "date +%H:%M >>/data/runs";
    const task = await made(first, `/services/${service}/scheduled-tasks`, {
      name: "note",
      command,
      frequency: "* * * * *",
    });
    const schedule = await made(second, `/databases/${postgres}/backups`, { frequency: "* * * * *" });
    /** Waits until enough runs of both have ended, and checks that none ran twice. */
    const over = async (server: TestServer, count: number) => {
      const seen = await until(
        async () => {
          const runs = await runsOf(server, task, schedule);
          const isOver = ({ length }: readonly TaskRun[]) => length >= count;
          const all = [...runs.tasks, ...runs.backups];
          const isDone = isOver(runs.tasks) && isOver(runs.backups) && all.every(({ status }) => status !== "running");
          return isDone ? runs : undefined;
        },
        { seconds: MINUTE_MS_MAX / 1000 },
      );
      const { tasks, backups, lines, files } = seen;
      expect([...tasks, ...backups].map(({ status }) => status)).toEqual([...tasks, ...backups].map(() => "success"));
      expect(lines).toHaveLength(tasks.length);
      // One for each minute.
      expect(new Set(lines).size).toBe(lines.length);
      expect(files).toHaveLength(backups.length);
      return Math.max(tasks.length, backups.length);
    };
    const before = await over(second, 1);
    await first.kill();
    await over(second, before + 1);
  });
});
