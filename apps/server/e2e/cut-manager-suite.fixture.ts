import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually, until } from "@berth/testing";
import { afterEach, expect, test } from "vitest";
import { outcomeOf, requestDeployment } from "./applications.fixture.ts";
import type { CrashInstallation } from "./crash.fixture.ts";
import { assertRunning } from "./server.fixture.ts";

/** Moments of a deployment at which a server with `BERTH_PAUSE` can pause. */
type Pause = "build" | "start" | "start-end" | "health" | "switch";

export interface CutManagerSuite {
  /** Its first machine is the only manager of a cluster; its last resource has data. */
  readonly place: () => CrashInstallation;
  /** `BERTH_PAUSE` of the place's server. */
  readonly folder: string;
  readonly pauses: readonly Pause[];
}

/**
 * Cuts the only manager off at each of these moments of a deployment, until Berth has noticed it. By then the manager
 * has given up its other nodes, so a deployment may fail where it needs them.
 */
export function cutManagerSuite({ place, folder, pauses }: CutManagerSuite): void {
  let version = 0;
  let isCut = false;
  const manager = () => {
    const [machine] = place().machines;
    if (machine === undefined) throw new Error("A cluster has a manager.");
    return machine;
  };
  const rejoin = async () => {
    if (isCut) await manager().joinNetwork();
    isCut = false;
  };
  afterEach(rejoin);
  /** How often the server paused there. */
  const paused = (at: Pause) => place().server.output().split(`Paused at ${at}\n`).length - 1;

  test.each(pauses)(
    "ends with a result when the manager is cut off at %s: one release, its data, nothing left",
    async (at) => {
      const { server, resources, strays } = place();
      const resource = resources.at(-1);
      if (resource === undefined) throw new Error("The place has resources.");
      const before = (await resource.visit()).body;
      await resource.kept?.add(at);
      const kept = await resource.kept?.all();
      version += 1;
      const wanted = `cut-${version}`;
      await resource.change(wanted);
      const pausedBefore = paused(at);
      writeFileSync(join(folder, at), "");
      const deployment = await requestDeployment(server, resource.uuid);
      await until(() => paused(at) > pausedBefore, { seconds: 60 });

      await manager().cutNetwork();
      isCut = true;
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      await until(
        async () => {
          assertRunning(server);
          const { status, log } = await stateOf(deployment);
          return status !== "in_progress" || log.includes("Waits until it is back.");
        },
        { what: "Berth has noticed it", seconds: 60 },
      );
      await rejoin();

      const outcome = await outcomeOf(server, deployment, 200_000);
      expect(["finished", "failed"], outcome.log).toContain(outcome.status);
      if (outcome.status === "failed") expect(outcome.error).toMatch(/\S.+\.$/);
      const served = outcome.status === "finished" ? wanted : before;
      await eventually(async () => expect(await resource.visit()).toEqual({ status: 200, body: served }));
      await until(async () => (await resource.releases()) === 1, { seconds: 60 });
      expect(await resource.kept?.all()).toEqual(kept);
      if (outcome.status === "failed") await until(async () => (await resource.traces(deployment)) === 0);
      await eventually(async () => expect((await strays?.()) ?? []).toEqual([]));
    },
  );

  async function stateOf(deployment: string): Promise<{ readonly status: string; readonly log: string }> {
    const { server } = place();
    const [{ body: now }, { body: log }] = await Promise.all([
      server.rest("GET", `/deployments/${deployment}`),
      server.rest("GET", `/deployments/${deployment}/logs`),
    ]);
    return { status: (now as { status: string }).status, log: JSON.stringify(log) };
  }
}
