import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertTook, describeLargeDocker, SERVER_IMAGE, type ServerContainer, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Outcome, outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { enginePlace, type Place, watching } from "./crash.fixture.ts";
import { dockerfile, endDeployments, type PlacedResource, setDockerfile } from "./placed-resource.fixture.ts";

const STEPS = ["checkout", "build", "start", "health", "switch"] as const;
type StepName = (typeof STEPS)[number];
const CANCEL_MS_MAX = 5000;
const OUTAGE_MS = 2000; // Longer than any step needs to notice.
/** Nothing else on this machine sleeps for so long. */
const ENDLESS = "31415";
const SLOW_SECONDS = "4.25";

describeLargeDocker(
  "a deployment to Docker, here and over SSH,",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-pause-"));
    let place: Place;
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
    const hold = (step: StepName) => writeFileSync(join(folder, step), "");
    const release = () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
    };
    /** How often the server paused at a step since its start. */
    const heldAt = (step: StepName) => place.server.output().split(`Paused at ${step}\n`).length - 1;

    const stepOf = async (deployment: string, name: string) => {
      const { body } = await place.server.rest("GET", `/deployments/${deployment}/steps`);
      return (body as { name: string; status: string }[]).find((step) => step.name === name)?.status;
    };
    const runs = (deployment: string, step: StepName) =>
      until(async () => (await stepOf(deployment, step)) === "running", { seconds: 60 });

    /** How to make each step long. A step that would end at once is paused instead. */
    const LONG: Readonly<Record<StepName, (application: PlacedResource) => Promise<unknown>>> = {
      checkout: async () => hold("checkout"),
      build: ({ uuid }) => setDockerfile(place.server, uuid, dockerfile("x", `RUN sleep ${ENDLESS}`)),
      start: async () => hold("start"),
      health: ({ uuid }) => setDockerfile(place.server, uuid, `FROM busybox:stable\nCMD ["sleep", "${ENDLESS}"]\n`),
      switch: ({ uuid }) => setPreCommand(uuid, `sleep ${ENDLESS}`),
    };
    const setPreCommand = (uuid: string, pre_deployment_command: string | null) =>
      place.server.rest("PATCH", `/applications/${uuid}`, { pre_deployment_command });

    async function nextVersion(applications: readonly PlacedResource[]): Promise<string> {
      version += 1;
      await Promise.all(applications.map((one) => one.change(String(version))));
      return String(version);
    }

    test.each(STEPS)(
      "is cancelled in %s within 5 seconds, leaves nothing, and nobody who visits notices",
      async (step) => {
        const { server, resources: applications } = place;
        const before = await Promise.all(applications.map((one) => one.visit()));
        const watches = applications.map(watching);
        await nextVersion(applications);
        await Promise.all(applications.map((one) => LONG[step](one)));
        const deployments = await Promise.all(applications.map(({ uuid }) => requestDeployment(server, uuid)));
        await Promise.all(deployments.map((deployment) => runs(deployment, step)));
        if (step === "build") await until(() => endless().length >= applications.length);

        const cancelled = await Promise.all(
          deployments.map(async (deployment) => {
            const askedMs = Date.now();
            const { status } = await server.rest("POST", `/deployments/${deployment}/cancel`);
            expect(status).toBe(200);
            return askedMs;
          }),
        );
        for (const [at, application] of applications.entries()) {
          const deployment = deployments[at] ?? "";
          const outcome = await outcomeOf(server, deployment, 30_000);
          expect(outcome.status, outcome.log).toBe("cancelled-by-user");
          const { body } = await server.rest("GET", `/deployments/${deployment}`);
          const endedMs = Date.parse((body as { finished_at: string }).finished_at);
          await assertTook(endedMs - (cancelled[at] ?? 0), CANCEL_MS_MAX, outcome.log);
          expect(await application.traces(deployment)).toBe(0);
          expect(await application.releases()).toBe(1);
          expect(await watches[at]?.end()).toEqual([]);
          expect(await application.visit()).toEqual(before[at]);
          await setPreCommand(application.uuid, null);
        }
        // Build, candidate and command do not continue on the server.
        await until(() => endless().length === 0);
      },
    );

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

const endless = () => sleepers(ENDLESS);

/** Processes that sleep for this time, in any container of this machine. */
function sleepers(seconds: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith(`sleep\0${seconds}\0`);
    } catch {
      return false; // It has ended.
    }
  });
}
