import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assertTook, until } from "@berth/testing";
import pLimit from "p-limit";
import { expect, test } from "vitest";
import { outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type CrashInstallation, watching } from "./crash.fixture.ts";
import type { CrashStep } from "./crash-suite.fixture.ts";
import type { EndlessRegistry } from "./endless-registry.fixture.ts";
import { dockerfile, type PlacedResource, setDockerfile } from "./placed-resource.fixture.ts";

const CANCEL_MS_MAX = 5000;
/** Nothing else on this machine sleeps for so long. */
const ENDLESS = "31415";

export interface CancelSuite {
  /** Applications only. */
  readonly place: () => CrashInstallation;
  /** `BERTH_PAUSE` of the place's server. */
  readonly folder: string;
  readonly steps: readonly CrashStep[];
  /** Serves what compose files wait for in their builds. */
  readonly registry?: () => EndlessRegistry;
}

/** Cancels a deployment of each application in each of these steps, which is made to take long. */
export function cancelSuite({ place, folder, steps, registry }: CancelSuite): void {
  const hold = (moment: string) => writeFileSync(join(folder, moment), "");
  /** How often the server paused at the end of a start. */
  const started = () => place().server.output().split("Paused at start-end\n").length - 1;

  /** How to make each step long. A step that would end at once is paused instead. */
  const LONG: Readonly<Record<CrashStep, (application: PlacedResource) => Promise<unknown>>> = {
    checkout: async () => hold("checkout"),
    build: ({ uuid, hang }) =>
      registry !== undefined && hang !== undefined
        ? hang("build", registry().overSsh())
        : setDockerfile(place().server, uuid, dockerfile("x", `RUN sleep ${ENDLESS}`)),
    // It has created what must be undone.
    start: async () => hold("start-end"),
    health: ({ uuid, hang }) =>
      registry !== undefined && hang !== undefined
        ? hang("health", registry().overSsh())
        : setDockerfile(place().server, uuid, `FROM busybox:stable\nCMD ["sleep", "${ENDLESS}"]\n`),
    // Where containers stop for their successors, the command runs before the start.
    switch: async ({ uuid, isSeamless }) => {
      if (isSeamless) await setPreCommand(uuid, `sleep ${ENDLESS}`);
      else hold("switch");
    },
  };
  const setPreCommand = (uuid: string, pre_deployment_command: string | null) =>
    place().server.rest("PATCH", `/applications/${uuid}`, { pre_deployment_command });

  const runs = (deployment: string, step: CrashStep) =>
    until(
      async () => {
        const { body } = await place().server.rest("GET", `/deployments/${deployment}/steps`);
        const found = (body as { name: string; status: string }[]).find(({ name }) => name === step);
        return found?.status === "running";
      },
      { seconds: 60 },
    );

  test.each(steps)(
    "is cancelled in %s within 5 seconds, leaves nothing, and nobody who visits notices",
    async (step) => {
      const { server, resources: applications, strays } = place();
      const before = await Promise.all(applications.map((one) => one.visit()));
      await Promise.all(applications.map((one) => one.kept?.add(step)));
      const kept = await Promise.all(applications.map((one) => one.kept?.all()));
      const watches = applications.map(watching);
      const startedBefore = started();
      await Promise.all(applications.map((one) => one.change(`not-${step}`)));
      const begun = async (one: PlacedResource) => {
        await LONG[step](one);
        const deployment = await requestDeployment(server, one.uuid);
        await runs(deployment, step);
        return deployment;
      };
      // A pause is for all that arrive there afterwards.
      const inTurn = pLimit(step === "switch" ? 1 : applications.length);
      const deployments = await Promise.all(applications.map((one) => inTurn(begun, one)));
      if (step === "start") await until(() => started() - startedBefore === applications.length, { seconds: 60 });
      if (step === "build") {
        await until(() => endless().length + (registry?.().waiting() ?? 0) >= applications.length, { seconds: 60 });
      }

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
        expect(await watches[at]?.end()).toEqual([]);
        if (!application.isSeamless) await until(() => isBack(application, before[at]?.body), { seconds: 60 });
        // One that was stopped for its successor has its data again.
        if (application.kept !== undefined) expect(await application.kept.all()).toEqual(kept[at]);
        expect(await application.releases()).toBe(1);
        expect(await application.visit()).toEqual(before[at]);
        await setPreCommand(application.uuid, null);
      }
      expect((await strays?.()) ?? []).toEqual([]);
      // Build, candidate and command do not continue on the server.
      await until(() => endless().length + (registry?.().waiting() ?? 0) === 0);
    },
  );
}

const endless = () => sleepers(ENDLESS);

/** Whether a resource that was stopped for its successor answers again. */
const isBack = async ({ visit }: PlacedResource, body: string | undefined): Promise<boolean> =>
  (await visit().catch(() => undefined))?.body === body;

/** Processes that sleep for this time, in any container of this machine. */
export function sleepers(seconds: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").endsWith(`sleep\0${seconds}\0`);
    } catch {
      return false; // It has ended.
    }
  });
}
