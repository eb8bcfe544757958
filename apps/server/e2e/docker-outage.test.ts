import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLargeDocker, SERVER_IMAGE, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { deploy, outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type CrashInstallation, enginePlace, watching } from "./crash.fixture.ts";
import { endDeployments } from "./placed-resource.fixture.ts";

const PATIENCE_SECONDS = "2";

describeLargeDocker(
  "a server over SSH that stays away for too long",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-outage-"));
    let place: CrashInstallation;
    beforeAll(async () => {
      const env = { BERTH_PAUSE: folder, BERTH_OUTAGE: PATIENCE_SECONDS };
      place = await enginePlace(docker, { machines: [["application"]], env });
    });
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

    const release = () => {
      for (const name of existsSync(folder) ? readdirSync(folder) : []) rmSync(join(folder, name));
    };
    const remote = () => {
      const { server, machines, resources } = place;
      const [[machine], [application]] = [machines, resources];
      if (machine === undefined || application === undefined) throw new Error("The place has no server over SSH.");
      return { server, machine, application };
    };
    /** Deploys, and takes the connection away when the step has begun. */
    async function deployedInto(step: string, version: string): Promise<string> {
      const { server, machine, application } = remote();
      await application.change(version);
      const held = server.output().split(`Paused at ${step}\n`).length;
      writeFileSync(join(folder, step), "");
      const deployment = await requestDeployment(server, application.uuid);
      await until(() => server.output().split(`Paused at ${step}\n`).length > held, { seconds: 60 });
      await machine.killSshd();
      release();
      return deployment;
    }

    test.each(["checkout", "build", "start", "health"])(
      "at %s fails the deployment, keeps what runs, and is rid of the candidate when it is back",
      async (step) => {
        const { server, machine, application } = remote();
        const before = await application.visit();
        const watch = watching(application);
        const deployment = await deployedInto(step, `lost at ${step}`);
        // It ends while the server is away.
        const outcome = await outcomeOf(server, deployment, 60_000);
        expect(outcome.status, outcome.log).toBe("failed");
        expect(outcome.error).toMatch(/^Server web-0 /);
        expect(outcome.log).toContain("Waits until it is back.");
        expect(outcome.log).toContain("The previous release keeps running.");
        await machine.startSshd();
        await until(async () => (await application.traces(deployment)) === 0, { seconds: 60 });
        expect(await application.releases()).toBe(1);
        expect(await watch.end()).toEqual([]);
        expect(await application.visit()).toEqual(before);
      },
    );

    test("at the switch fails it too, since nobody would reach the new release, and keeps what runs", async () => {
      const { server, machine, application } = remote();
      const before = await application.visit();
      const watch = watching(application);
      const deployment = await deployedInto("switch", "late");
      const outcome = await outcomeOf(server, deployment, 100_000);
      expect(outcome.status, outcome.log).toBe("failed");
      expect(outcome.error).toContain("The proxy of server web-0 cannot lead its URLs to the new release");
      await machine.startSshd();
      await until(async () => (await application.traces(deployment)) === 0, { seconds: 60 });
      expect(await application.releases()).toBe(1);
      expect(await watch.end()).toEqual([]);
      expect(await application.visit()).toEqual(before);
    });

    test("is deployed to again as if nothing had been", async () => {
      const { server, application } = remote();
      await application.change("after");
      const outcome = await deploy(server, application.uuid);
      expect(outcome.status, outcome.log).toBe("finished");
      expect((await application.visit()).body).toBe("after");
    });
  },
);
