import { describeDocker, SERVER_IMAGE } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { dockerPlace, type Place, type PlacedApplication, processPlace, sshPlace, watching } from "./crash.fixture.ts";
import { type TestServer, until } from "./server.fixture.ts";

const STEPS = ["checkout", "build", "start", "health", "switch"] as const;
const MOMENTS = ["before", "middle", "after"] as const;

describe("kill -9 of the server in a step of a deployment", () => {
  suite(processPlace);
});

describeDocker("kill -9 of the server in a step of a deployment to Docker", ["busybox:stable", "caddy:2"], (docker) => {
  suite(() => dockerPlace(docker));
});

describeDocker(
  "kill -9 of the server in a step of deployments to two servers over SSH",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    suite(() => sshPlace(docker));
  },
);

function suite(open: () => Promise<Place>): void {
  let place: Place;
  let version = 0;
  beforeAll(async () => {
    place = await open();
  }, 300_000);
  afterAll(() => place?.dispose());

  it.each(STEPS.flatMap((step) => MOMENTS.map((moment) => ({ step, moment }))))(
    "$moment $step: each ends with a result, and something served throughout",
    async ({ step, moment }) => {
      const { server, applications } = place;
      const before = await Promise.all(applications.map(async (one) => (await one.visit()).body));
      const known = await Promise.all(applications.map(({ uuid }) => newestDeployment(server, uuid)));
      await server.stop();
      await server.start({ BERTH_CRASH: `${step}:${moment}` });
      await Promise.all(applications.map((one) => until(() => isServing(one))));
      const watches = applications.map(watching);
      version += 1;
      await Promise.all(applications.map((one) => one.change(String(version))));
      // The server may be dead before it has answered.
      await Promise.all(applications.map(({ uuid }) => requestDeployment(server, uuid).catch(() => undefined)));
      await server.exited();

      await server.start();
      let asked = 0;
      for (const [at, application] of applications.entries()) {
        const deployment = await newestDeployment(server, application.uuid);
        const outcome = await outcomeOf(server, deployment);
        expect(["finished", "failed"], outcome.log).toContain(outcome.status);
        if (outcome.status === "failed") expect(outcome.error).toMatch(/\S.+\.$/);
        expect(await watches[at]?.end()).toEqual([]);
        const wasAsked = deployment !== known[at];
        if (wasAsked) asked += 1;
        const wanted = wasAsked && outcome.status === "finished" ? String(version) : before[at];
        expect((await application.visit()).body).toBe(wanted);
        await until(async () => (await application.releases()) === 1, 60_000);
        await until(async () =>
          (await outcomeOf(server, deployment)).steps.every(({ status }) => status !== "running"),
        );
      }
      expect(asked).toBeGreaterThan(0);
      expect((await server.rest("GET", "/deployments")).body).toEqual([]);
    },
    180_000,
  );
}

async function newestDeployment(server: TestServer, uuid: string): Promise<string> {
  const { body } = await server.rest("GET", `/deployments/applications/${uuid}?take=1`);
  const [newest] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
  if (newest === undefined) throw new Error("No deployment was recorded.");
  return newest.deployment_uuid;
}

const isServing = async (application: PlacedApplication): Promise<boolean> =>
  (await application.visit().catch(() => undefined))?.status === 200;
