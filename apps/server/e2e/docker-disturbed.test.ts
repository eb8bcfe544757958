import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLargeDocker, SERVER_IMAGE, type ServerContainer, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Outcome, outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { cancelSuite, sleepers } from "./cancel-suite.fixture.ts";
import { type CrashInstallation, enginePlace, watching } from "./crash.fixture.ts";
import { type CrashStep, STEPS } from "./crash-suite.fixture.ts";
import { dockerfile, endDeployments, type PlacedResource, setDockerfile } from "./placed-resource.fixture.ts";

const OUTAGE_MS = 2000; // Longer than any step needs to notice.
const SLOW_SECONDS = "4.25";

describeLargeDocker(
  "a deployment to Docker, here and over SSH,",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-pause-"));
    let place: CrashInstallation;
    let version = 0;
    beforeAll(async () => {
      const one = ["application"] as const;
      place = await enginePlace(docker, { here: one, machines: [one, one], env: { BERTH_PAUSE: folder } });
    });
    afterEach(async () => {
      release();
      if (place !== undefined) await endDeployments(place.server, place.resources);
    });
    afterAll(async () => {
      await place?.dispose();
      rmSync(folder, { recursive: true, force: true });
    });

    const remote = () => {
      const { server, machines, resources } = place;
      const [machine, [, application]] = [machines[0], resources];
      if (machine === undefined || application === undefined) throw new Error("The place has no server over SSH.");
      return { server, machine, application };
    };
    const hold = (step: CrashStep) => writeFileSync(join(folder, step), "");
    const release = () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    };
    /** How often the server paused at a step since its start. */
    const heldAt = (step: CrashStep) => place.server.output().split(`Paused at ${step}\n`).length - 1;

    const stepOf = async (deployment: string, name: string) => {
      const { body } = await place.server.rest("GET", `/deployments/${deployment}/steps`);
      return (body as { name: string; status: string }[]).find((step) => step.name === name)?.status;
    };
    async function nextVersion(applications: readonly PlacedResource[]): Promise<string> {
      version += 1;
      await Promise.all(applications.map((one) => one.change(String(version))));
      return String(version);
    }

    cancelSuite({ place: () => place, folder, steps: STEPS });

    test("is over for a cancel once traffic flows: what it replaced drains and goes", async () => {
      const { server, resources: applications } = place;
      const wanted = await nextVersion(applications);
      const watches = applications.map(watching);
      const deployments = await Promise.all(applications.map(({ uuid }) => requestDeployment(server, uuid)));
      for (const [at, application] of applications.entries()) {
        const deployment = deployments[at] ?? "";
        const outcome = await outcomeOf(server, deployment);
        expect(outcome.status, outcome.log).toBe("finished");
        expect((await server.rest("POST", `/deployments/${deployment}/cancel`)).status).toBe(400);
        await until(async () => (await stepOf(deployment, "retire")) === "done", { seconds: 60 });
        expect(await application.releases()).toBe(1);
        expect(await watches[at]?.end()).toEqual([]);
        expect((await application.visit()).body).toBe(wanted);
      }
    });

    const LOSSES = [
      ["sshd is killed", (one: ServerContainer) => one.killSshd(), (one: ServerContainer) => one.startSshd()],
      ["the network is cut", (one: ServerContainer) => one.cutNetwork(), (one: ServerContainer) => one.joinNetwork()],
    ] as const;

    test.each(STEPS.flatMap((step) => LOSSES.map(([name, lose, restore]) => ({ step, name, lose, restore }))))(
      "is finished when $name at $step, with one release",
      async ({ step, lose, restore }) => {
        const { server, machine, application } = remote();
        const wanted = await nextVersion([application]);
        const held = heldAt(step);
        hold(step);
        const deployment = await requestDeployment(server, application.uuid);
        await until(() => heldAt(step) > held, { seconds: 60 });
        const watch = watching(application);
        await lose(machine);
        release();
        await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
        await restore(machine);

        const outcome = await outcomeOf(server, deployment, 160_000);
        await settled(application, outcome, wanted);
        const failures = await watch.end();
        // While no requests arrive, none can fail.
        if (lose === LOSSES[0][1]) expect(failures).toEqual([]);
      },
    );

    test("is finished when sshd is killed in the middle of a build, with one release", async () => {
      const { server, machine, application } = remote();
      const watch = watching(application);
      version += 1;
      // An existing build is reused.
      const wanted = `slow-${version}`;
      await setDockerfile(server, application.uuid, dockerfile(wanted, `RUN sleep ${SLOW_SECONDS}`));
      const deployment = await requestDeployment(server, application.uuid);
      await until(() => sleepers(SLOW_SECONDS).length > 0, { seconds: 60 });
      await machine.killSshd();
      await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
      await machine.startSshd();
      const outcome = await outcomeOf(server, deployment);
      await settled(application, outcome, wanted);
      expect(await watch.end()).toEqual([]);
    });

    test("drains and removes what it replaced when the connection is lost meanwhile", async () => {
      const { server, machine, application } = remote();
      const wanted = await nextVersion([application]);
      const watch = watching(application);
      const deployment = await requestDeployment(server, application.uuid);
      await until(async () => (await stepOf(deployment, "switch")) === "done", { seconds: 60 });
      await machine.killSshd();
      await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
      await machine.startSshd();
      const outcome = await outcomeOf(server, deployment);
      expect(outcome.status, outcome.log).toBe("finished");
      await settled(application, outcome, wanted);
      expect(await watch.end()).toEqual([]);
    });

    async function settled(application: PlacedResource, outcome: Outcome, wanted: string): Promise<void> {
      expect(outcome.status, `${outcome.error}\n${outcome.log}`).toBe("finished");
      await until(async () => (await application.releases()) === 1, { seconds: 60 });
      await until(async () => (await application.visit().catch(() => undefined))?.body === wanted, { seconds: 60 });
    }
  },
);
