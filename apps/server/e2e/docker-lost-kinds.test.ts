import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLargeDocker, SERVER_IMAGE, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { made, type Outcome, outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type CrashInstallation, enginePlace } from "./crash.fixture.ts";
import { execIn } from "./docker.fixture.ts";
import { type EngineObject, engineObjectsOn, filesOn, sorted } from "./engine-objects.fixture.ts";
import { DATABASE_IMAGE, endDeployments, type PlacedResource } from "./placed-resource.fixture.ts";

const KINDS = ["database", "stack", "service", "compose"] as const;
const OUTAGE_MS = 2000; // Longer than every step needs to notice.

const LOST = /^Server web-0 |^The connection to the program was lost/;

interface ReportedRun {
  readonly status: string;
  readonly message: string | null;
  readonly error_details: string | null;
  readonly filename: string | null;
}

describeLargeDocker(
  "a connection over SSH that is lost in the middle",
  [SERVER_IMAGE, "busybox:stable", DATABASE_IMAGE, "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-lost-"));
    let place: CrashInstallation;
    beforeAll(async () => {
      place = await enginePlace(docker, { machines: [KINDS], env: { BERTH_PAUSE: folder } });
      await Promise.all(place.resources.map((one) => one.kept?.add("first")));
    });
    let versions = 0;
    const release = () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    };
    afterEach(async () => {
      release();
      // It runs already, unless the test failed on the way.
      await place?.machines[0]?.startSshd().catch(() => undefined);
      if (place !== undefined) await endDeployments(place.server, place.resources);
    });
    afterAll(async () => {
      await place?.dispose();
      rmSync(folder, { recursive: true, force: true });
    });

    const machine = () => {
      const [found] = place.machines;
      if (found === undefined) throw new Error("The place has no server over SSH.");
      return found;
    };
    const ofKind = (kind: (typeof KINDS)[number]) => {
      const found = place.resources[KINDS.indexOf(kind)];
      if (found === undefined) throw new Error(`There is no ${kind}.`);
      return found;
    };
    const away = async (ms = OUTAGE_MS) => {
      await machine().killSshd();
      release();
      await new Promise((resolve) => setTimeout(resolve, ms));
    };
    const serves = (one: PlacedResource, wanted: string) =>
      until(async () => (await one.visit().catch(() => undefined))?.body === wanted, { seconds: 60 });
    const keeps = async (one: PlacedResource) => {
      if (one.kept === undefined) return;
      expect(await until(() => one.kept?.all().catch(() => undefined), { seconds: 60 })).toEqual(["first"]);
    };
    /** In the middle of a deployment of each. */
    async function deployedTo(moment: string, version: string): Promise<readonly string[]> {
      const { server, resources } = place;
      const held = () => server.output().split(`Paused at ${moment}\n`).length - 1;
      const before = held();
      writeFileSync(join(folder, moment), "");
      await Promise.all(resources.map((one) => one.change(version)));
      const deployments = await Promise.all(resources.map(({ uuid }) => requestDeployment(server, uuid)));
      await until(() => held() - before === resources.length, { seconds: 60 });
      return deployments;
    }
    const outcomes = (deployments: readonly string[]): Promise<readonly Outcome[]> =>
      Promise.all(deployments.map((uuid) => outcomeOf(place.server, uuid)));
    /** But those whose names are a deployment's own. */
    const things = async () => sorted(await engineObjectsOn(docker, machine()));
    const volumesAndNetworks = (all: readonly EngineObject[]) => all.filter(({ what }) => /volume|network/.test(what));

    test.each(["start", "start-end", "health"])(
      "at %s leads to one release of each that has all its files and data, and to nothing else",
      async (moment) => {
        const { resources } = place;
        const before = await things();
        const version = `${moment}-${versions++}`;
        const deployments = await deployedTo(moment, version);
        await away();
        await machine().startSshd();
        for (const { status, error, log } of await outcomes(deployments)) {
          expect(status, `${error}\n${log}`).toBe("finished");
        }
        for (const one of resources) {
          await serves(one, version);
          await until(async () => (await one.releases()) === 1, { seconds: 60 });
          await keeps(one);
        }
        expect(volumesAndNetworks(await things())).toEqual(volumesAndNetworks(before));
      },
    );

    test("a task and a backup fail with a reason, are nowhere when it is back, and the next ones succeed", async () => {
      const { server } = place;
      const [stack, database] = [ofKind("stack"), ofKind("database")];
      const seen = { client: machine().client };
      const sql = (...statements: readonly string[]) =>
        execIn(seen, database.uuid, [
          "psql",
          "--username=postgres",
          "-qAt",
          ...statements.map((one) => `--command=${one}`),
        ]);
      /** Programs in whatever container. */
      const running = async (name: RegExp) =>
        (await machine().exec(["ps", "-eo", "args"])).output.split("\n").filter((line) => name.test(line)).length;
      const dumping = () => running(/^pg_dump /);
      const sleeping = () => running(/^sleep 27182$/);
      const tasks = `/services/${stack.uuid}/scheduled-tasks`;
      const backups = `/databases/${database.uuid}/backups`;
      const runs = async (path: string) => {
        const { body } = await server.rest("GET", `${path}/executions`);
        return Array.isArray(body) ? (body as ReportedRun[]) : (body as { executions: ReportedRun[] }).executions;
      };
      const ended = (path: string, count: number) =>
        until(
          async () => {
            const all = await runs(path);
            return all.length === count && all.every(({ status }) => status !== "running") ? all[0] : undefined;
          },
          { seconds: 60 },
        );

      const unlock = () =>
        sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()",
        );
      await unlock();
      void sql("begin", "lock table kept", "select pg_sleep(3600)").catch(() => undefined);
      await until(async () => (await sql("select count(*) from pg_locks where mode = 'AccessExclusiveLock'")) !== "0");
      const filesBefore = await filesOn(machine());
      const schedule = await made(server, backups, { frequency: "yearly", backup_now: true });
      const ran = `/data/ran-${versions++}`;
      const command = `if [ -e ${ran} ]; then exit 0; fi; touch ${ran}; sleep 27182`;
      const task = await made(server, tasks, { name: "endless", command, frequency: "yearly", container: "store" });
      await server.rest("POST", `${tasks}/${task}/run`);
      await until(async () => (await dumping()) > 0 && (await sleeping()) > 0, { seconds: 60 });
      await away();
      const [taskRun, backup] = [await ended(`${tasks}/${task}`, 1), await ended(`${backups}/${schedule}`, 1)];
      expect(taskRun).toMatchObject({ status: "failed", error_details: expect.stringMatching(LOST) });
      expect(backup).toMatchObject({ status: "failed", message: expect.stringMatching(LOST) });
      expect(existsSync(backup.filename ?? "")).toBe(false);
      await machine().startSshd();
      await until(async () => (await dumping()) === 0 && (await sleeping()) === 0, { seconds: 60 });
      expect(await filesOn(machine())).toEqual(filesBefore);
      await unlock();
      await server.rest("POST", `${tasks}/${task}/run`);
      await server.rest("PATCH", `${backups}/${schedule}`, { backup_now: true });
      expect(await ended(`${tasks}/${task}`, 2)).toMatchObject({ status: "success" });
      expect(await ended(`${backups}/${schedule}`, 2)).toMatchObject({ status: "success" });
    });
  },
);
