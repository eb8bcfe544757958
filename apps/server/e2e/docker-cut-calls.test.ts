import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDocker, TEST_DOCKER_SOCKET, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Outcome, outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type DisturbedEngine, disturbedEngine } from "./disturbed-engine.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { type PlacedResource, placedApplication } from "./placed-resource.fixture.ts";
import { seenHere } from "./seen-server.fixture.ts";

const APPLICATIONS = 4;
/** Of each application, one after the other. */
const DEPLOYMENTS = Number(process.env.BERTH_TEST_CUT_DEPLOYMENTS ?? 3);
/** Of 108, at most 3. */
const FAILED_SHARE_MAX = 3 / 108;

describeDocker(
  "an engine of which half the connections are cut again and again",
  ["busybox:stable", "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-cut-"));
    let engine: DisturbedEngine;
    let server: DockerServer;
    let applications: PlacedResource[];
    beforeAll(async () => {
      engine = await disturbedEngine(join(folder, "engine.sock"), TEST_DOCKER_SOCKET);
      server = await dockerServer(docker, { env: { BERTH_DOCKER_SOCKET: engine.path } });
      const seen = seenHere(docker, server);
      applications = await Promise.all(Array.from({ length: APPLICATIONS }, () => placedApplication(seen)));
    }, 180_000);
    afterAll(async () => {
      await server?.dispose();
      await engine?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test("finishes deployments, and leaves one release of each application", async () => {
      const pid = server.pid();
      engine.disturb();
      const deployed = async (application: PlacedResource, at: number) => {
        const outcomes: Outcome[] = [];
        for (let n = 0; n < DEPLOYMENTS; n += 1) {
          await application.change(`${at}.${n}`);
          // Damaged half of the time.
          if (at === 0) engine.damage(n % 2 === 0);
          outcomes.push(await outcomeOf(server, await requestDeployment(server, application.uuid)));
        }
        return outcomes;
      };
      const ended = server
        .exited()
        .then(() => Promise.reject(new Error(`The server ended: ${server.output().slice(-5000)}`)));
      ended.catch(() => undefined); // It is, at the end of the suite.
      const outcomes = (await Promise.race([Promise.all(applications.map(deployed)), ended])).flat();
      engine.calm();
      const failed = outcomes.filter(({ status }) => status !== "finished");
      if (process.env.BERTH_TEST_CUT_DEPLOYMENTS) {
        console.log(`${outcomes.length - failed.length} of ${outcomes.length} finished`, engine.counts());
        for (const { error, log } of failed) console.log(error, log);
      }
      const reasons = failed.map(({ error, log }) => `${error}\n${log}`).join("\n");
      expect(failed.length, reasons).toBeLessThanOrEqual(Math.floor(outcomes.length * FAILED_SHARE_MAX));
      expect(engine.counts().cuts).toBeGreaterThan(0);
      expect(server.pid()).toBe(pid);
      await until(async () => (await Promise.all(applications.map((one) => one.releases()))).every((n) => n === 1));
      const last = await Promise.all(applications.map((one) => one.visit()));
      expect(last.map(({ body }) => body)).toEqual(applications.map((_, at) => `${at}.${DEPLOYMENTS - 1}`));
    }, 600_000);
  },
);
