import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertTook, describeLargeDocker, SERVER_IMAGE, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type CrashInstallation, enginePlace, watching } from "./crash.fixture.ts";
import { type EndlessRegistry, endlessRegistry } from "./endless-registry.fixture.ts";
import {
  type EngineObject,
  engineObjectsOf,
  engineObjectsOn,
  filesOn,
  isOf,
  sorted,
  tagsOn,
} from "./engine-objects.fixture.ts";
import { DATABASE_IMAGE, endDeployments, type HungStep, type PlacedResource } from "./placed-resource.fixture.ts";

const STEPS = ["checkout", "build", "start", "health", "switch"] as const;
type StepName = (typeof STEPS)[number];
const IMAGES = [SERVER_IMAGE, "busybox:stable", DATABASE_IMAGE, "caddy:2"];
const KINDS = ["database", "stack", "service", "compose"] as const;
/** How a kind is undone does not depend on the way to its engine, so one of a single container and one of several do. */
const KINDS_OVER_SSH = ["database", "stack"] as const;
/** A bound for what hangs: with all kinds at work a slow machine needs a minute. */
const SECONDS_MAX = 150;
const CANCEL_MS_MAX = 5000;
/** Shorter than the paused steps would take. */
const DELETE_MS_MAX = 30_000;

describeLargeDocker("a deployment of each other kind, here and over SSH,", IMAGES, (docker) => {
  const folder = mkdtempSync(join(tmpdir(), "berth-pause-"));
  let place: CrashInstallation;
  let registry: EndlessRegistry;
  const deleted = new Set<PlacedResource>();
  beforeAll(async () => {
    registry = await endlessRegistry(docker);
    // Resources of all kinds wait in the same step, and all belong to one team.
    const env = { BERTH_PAUSE: folder, BERTH_PATIENCE: "product", BERTH_TEAM_SHARE: "100" };
    place = await enginePlace(docker, { here: KINDS, machines: [KINDS_OVER_SSH], env });
    await Promise.all(place.resources.map((one) => one.kept?.add("first")));
  });
  const hold = (name: string) => writeFileSync(join(folder, name), "");
  const release = () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
  };
  afterEach(async () => {
    release();
    if (place !== undefined) await endDeployments(place.server, place.resources);
  });
  afterAll(async () => {
    await place?.dispose();
    registry?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** How each step is made to hang, in the middle of its own work where possible. */
  const HELD: Readonly<Record<StepName, HungStep | undefined>> = {
    checkout: undefined,
    build: "build",
    start: "start",
    health: "health",
    switch: undefined,
  };
  /** Resources are in the order of the placement. */
  const nowhereOf = (one: PlacedResource) =>
    place.resources.indexOf(one) < KINDS.length ? registry.here() : registry.overSsh();

  /** Changes and deploys each resource, until all are in the middle of the step. */
  async function deployedTo(step: StepName, resources = place.resources): Promise<readonly string[]> {
    const { server } = place;
    const hung = HELD[step];
    const isHeld = step === "checkout" || step === "switch";
    const held = () => server.output().split(`Paused at ${isHeld ? step : "start-end"}\n`).length - 1;
    const heldBefore = held();
    if (isHeld) hold(step);
    // A start that does not hang has created what must be undone.
    if (step === "start") hold("start-end");
    await Promise.all(
      resources.map((one) => (hung === undefined ? one.change(`not-${step}`) : one.hang?.(hung, nowhereOf(one)))),
    );
    const deployments = await Promise.all(resources.map(({ uuid }) => requestDeployment(server, uuid)));
    await Promise.all(
      deployments.map((uuid) => until(async () => (await stepOf(uuid, step)) === "running", { seconds: SECONDS_MAX })),
    );
    if (isHeld) await until(() => held() - heldBefore === resources.length, { seconds: SECONDS_MAX });
    if (step === "build") await until(() => registry.waiting() >= resources.length, { seconds: SECONDS_MAX });
    if (step === "start") {
      const begun = async (at: number) => (await resources[at]?.traces(deployments[at] ?? "")) ?? 0;
      await until(async () => (await Promise.all(resources.map((_, at) => begun(at)))).every((count) => count > 0));
    }
    return deployments;
  }

  const stepOf = async (deployment: string, name: string) => {
    const { body } = await place.server.rest("GET", `/deployments/${deployment}/steps`);
    return (body as { name: string; status: string }[]).find((step) => step.name === name)?.status;
  };

  /** Waits until a resource that was stopped for its successor answers again. */
  const answered = (one: PlacedResource) =>
    until(
      async () => {
        const answer = await one.visit().catch(() => undefined);
        return answer?.status === 200 ? answer.body : undefined;
      },
      { seconds: SECONDS_MAX },
    );
  /** One container may answer before the one with the data is back. */
  const keptOf = (one: PlacedResource) => until(() => one.kept?.all().catch(() => undefined), { seconds: SECONDS_MAX });

  async function cancelled(deployments: readonly string[]): Promise<void> {
    const { server } = place;
    const ends: { status: string; ms: number; log: string }[] = [];
    // Cancelled one after the other: all at once would only measure the machine.
    for (const uuid of deployments) {
      const askedMs = Date.now();
      expect((await server.rest("POST", `/deployments/${uuid}/cancel`)).status).toBe(200);
      const { status, log } = await outcomeOf(server, uuid, 120_000);
      const { body } = await server.rest("GET", `/deployments/${uuid}`);
      ends.push({ status, log, ms: Date.parse((body as { finished_at: string }).finished_at) - askedMs });
    }
    for (const { status, ms, log } of ends) {
      expect(status, log).toBe("cancelled-by-user");
      await assertTook(ms, CANCEL_MS_MAX, log);
    }
  }

  const files = async () => (await Promise.all(place.machines.map(filesOn))).flat();

  /** Pulled images have no labels. */
  const things = async (): Promise<readonly EngineObject[]> => {
    const [here, ...there] = await Promise.all([
      engineObjectsOf(docker),
      ...place.resources.map(({ uuid }) => tagsOn(docker.client, `berth/${uuid}:*`)),
      ...place.machines.map((machine) => engineObjectsOn(docker, machine)),
    ]);
    return sorted([...here.filter(({ what }) => what !== "image"), ...there.flat()]);
  };

  /** All objects, once every stopped release is running again. */
  const settled = () =>
    until(
      async () => {
        const all = await things();
        const isBack = ({ what, state }: EngineObject) => what !== "container" || !String(state).endsWith("exited");
        return all.every(isBack) ? all : undefined;
      },
      { seconds: SECONDS_MAX },
    );

  test.each(STEPS)(
    "is cancelled in %s within 5 seconds and leaves nothing, and what was there before runs with its data",
    async (step) => {
      const { resources } = place;
      const visits = await Promise.all(resources.map(answered));
      const before = await settled();
      const filesBefore = await files();
      const watches = resources.map(watching);
      const deployments = await deployedTo(step);
      await cancelled(deployments);
      // The status changes only after everything was removed.
      const traces = await Promise.all(resources.map((one, at) => one.traces(deployments[at] ?? "")));
      expect(traces).toEqual(resources.map(() => 0));
      // Neither a pull nor a build continues.
      await until(() => registry.waiting() === 0);
      await Promise.all(
        resources.map(async (one, at) => {
          expect(await answered(one)).toBe(visits[at]);
          expect(await watches[at]?.end()).toEqual([]);
          if (one.kept !== undefined) expect(await keptOf(one)).toEqual(["first"]);
        }),
      );
      expect(await things()).toEqual(before);
      expect(await files()).toEqual(filesBefore);
    },
    420_000,
  );

  // These consume what they test, so they come last.
  test.each([
    ["start", ["stack", "service"], true],
    ["health", ["database", "compose"], false],
  ] as const)(
    "is broken off in %s when the %s that it deploys is deleted (with its volumes: %s), which takes that and nothing else",
    async (step, kinds, delete_volumes) => {
      const { server } = place;
      const resources = place.resources.filter((_, at) => kinds.some((kind) => kind === KINDS[at % KINDS.length]));
      const others = place.resources.filter((one) => !resources.includes(one) && !deleted.has(one));
      await Promise.all([...resources, ...others].map(answered));
      const before = await settled();
      const filesBefore = await files();
      const watches = others.map(watching);
      await deployedTo(step, resources);
      await Promise.all(
        resources.map(async ({ kind, uuid }) => {
          const path = `/${kind}/${uuid}`;
          const answer = await server.rest("DELETE", `${path}?delete_volumes=${delete_volumes}`);
          expect(answer.status, JSON.stringify(answer.body)).toBe(200);
          await until(async () => (await server.rest("GET", path)).status === 404, { seconds: DELETE_MS_MAX / 1000 });
        }),
      );
      for (const one of resources) deleted.add(one);
      const isTheirs = (thing: EngineObject) =>
        resources.some(({ uuid }) => isOf(uuid)(thing) || thing.id.includes(uuid));
      const stays = (thing: EngineObject) => !isTheirs(thing) || (thing.what === "volume" && !delete_volumes);
      expect(await things()).toEqual(before.filter(stays));
      expect((await files()).filter((path) => !filesBefore.includes(path))).toEqual([]);
      const volumes = before.filter((thing) => thing.what === "volume" && isTheirs(thing));
      expect(volumes).toHaveLength(resources.filter(({ kept }) => kept !== undefined).length);
      for (const watch of watches) expect(await watch.end()).toEqual([]);
      await Promise.all(others.map(answered));
    },
    420_000,
  );
});
