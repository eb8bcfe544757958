import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Relay,
  relay,
  removeLabelled,
  TEST_DOCKER_SOCKET,
  testDockerClient,
  testInstance,
  until,
} from "@berth/testing";
import { type Outcome, outcomeOf, requestDeployment } from "../applications.fixture.ts";
import { dockerServer } from "../docker.fixture.ts";
import { type PlacedResource, placedApplication } from "../placed-resource.fixture.ts";
import { seenHere } from "../seen-server.fixture.ts";
import type { TestServer } from "../server.fixture.ts";
import { expect, isHealthy } from "./checks.ts";
import { repeated } from "./load.ts";
import { NotSupported } from "./machine.ts";
import { atRowEnd } from "./row-end.ts";

const APPLICATIONS = 4;
const CUT_MS_MIN = 500;
/** Cuts during one undisturbed round of deployments: on a machine that is slower they are as much slower. */
const CUTS_PER_ROUND = 4;
/** Answers are damaged in every other span of this many cuts. */
const DAMAGE_CUTS = 10;
const DEPLOYMENT_SECONDS_MAX = 600;
/** Three of 108 may fail: those that lost each of their attempts. */
const FAILED_SHARE_MAX = 3 / 108;

export interface EngineCuts {
  readonly deployments: number;
  /** Time between two cuts. Default: a quarter of an undisturbed deployment, so that any machine can finish some. */
  readonly cutMs?: number | undefined;
}

/** Repeatedly cuts half of the connections to the engine while applications are deployed and read. */
export async function cutEngine({ deployments, cutMs }: EngineCuts): Promise<string> {
  const client = testDockerClient();
  const engine = await client.version().catch(() => undefined);
  if (engine === undefined) throw new NotSupported(`no Docker engine answers on ${TEST_DOCKER_SOCKET}`);
  const run = `berth-faults-${randomBytes(4).toString("hex")}`;
  const docker = { client, instance: testInstance(run), name: (hint: string) => `${run}-${hint}` };
  atRowEnd(async () => {
    for (const failure of await removeLabelled(client, `berth.instance=${docker.instance}`)) console.log(failure);
  });
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-"));
  atRowEnd(() => rmSync(folder, { recursive: true, force: true }));
  const socketPath = join(folder, "engine.sock");
  const way = await relay({ path: TEST_DOCKER_SOCKET }, socketPath);
  atRowEnd(() => way.close());
  const starting = dockerServer(docker, { env: { BERTH_DOCKER_SOCKET: socketPath } });
  atRowEnd(() => starting.then((server) => server.dispose()));
  const server = await starting;
  const seen = seenHere(docker, server);
  const applications = await Promise.all(Array.from({ length: APPLICATIONS }, () => placedApplication(seen)));
  return await deployThrough(way, server, applications, { deployments, cutMs });
}

async function deployThrough(
  way: Relay,
  server: TestServer,
  applications: readonly PlacedResource[],
  { deployments, cutMs: wantedCutMs }: EngineCuts,
): Promise<string> {
  const pid = server.pid();
  const undisturbedAt = performance.now();
  await deployedByAll(server, applications, 1, 1);
  const roundMs = performance.now() - undisturbedAt;
  const cutMs = wantedCutMs ?? Math.max(CUT_MS_MIN, roundMs / CUTS_PER_ROUND);
  console.log(
    `  a round without cuts takes ${Math.round(roundMs)} ms; from now on a cut every ${Math.round(cutMs)} ms`,
  );
  const beganAt = performance.now();
  let cuts = 0;
  const disturbing = repeated(1, async () => {
    way.damage(Math.floor(cuts / DAMAGE_CUTS) % 2 === 1);
    way.cut(0.5);
    cuts += 1;
    await delay(cutMs);
  });
  const reading = repeated(applications.length, async (at) => {
    await server.rest("GET", `/applications/${applications[at]?.uuid}/logs`).catch(() => undefined);
    await delay(cutMs);
  });
  const ended = await deployedByAll(server, applications, 2, Math.ceil(deployments / APPLICATIONS));
  const seconds = (performance.now() - beganAt) / 1000;
  await Promise.all([disturbing(), reading()]);
  way.damage(false);

  const outcomes = ended.flat();
  const failed = outcomes.filter(({ outcome }) => outcome.status !== "finished");
  for (const { outcome } of failed) console.log(`  ${outcome.status}: ${outcome.error}`);
  for (const [at, application] of applications.entries()) await isAsDeployed(application, ended[at] ?? []);
  expect(server.pid() === pid && (await isHealthy(server)), "the server's process ended");
  const finished = `${outcomes.length - failed.length} of ${outcomes.length} deployments finished`;
  const everyMs = Math.round((seconds * 1000) / cuts);
  const result = `${finished} in ${Math.round(seconds)} s with ${cuts} cuts, one every ${everyMs} ms`;
  expect(failed.length <= outcomes.length * FAILED_SHARE_MAX, `only ${result}: ${failed[0]?.outcome.error}`);
  return `${result}; each application answers as its last one says, and nothing is left of the others`;
}

interface Deployed {
  /** What the application answers when the deployment finished. */
  readonly version: string;
  readonly outcome: Outcome;
}

/** All of them at the same time. After a failure none begins another round. */
async function deployedByAll(
  server: TestServer,
  applications: readonly PlacedResource[],
  firstRound: number,
  rounds: number,
): Promise<readonly (readonly Deployed[])[]> {
  let isOver = false;
  const deployedInTurn = async (application: PlacedResource): Promise<readonly Deployed[]> => {
    const all: Deployed[] = [];
    for (let round = firstRound; round < firstRound + rounds && !isOver; round += 1) {
      const version = `${application.uuid}-${round}`;
      await application.change(version);
      const deployment = await requestDeployment(server, application.uuid);
      all.push({ version, outcome: await outcomeOf(server, deployment, DEPLOYMENT_SECONDS_MAX * 1000) });
    }
    return all;
  };
  const deploying = applications.map((application) =>
    deployedInTurn(application).catch((error: unknown) => {
      isOver = true;
      throw error;
    }),
  );
  await Promise.allSettled(deploying);
  return await Promise.all(deploying);
}

async function isAsDeployed(application: PlacedResource, deployed: readonly Deployed[]): Promise<void> {
  const wanted = deployed.findLast(({ outcome }) => outcome.status === "finished")?.version ?? "0";
  await until(async () => (await application.visit().catch(() => undefined))?.body === wanted, {
    what: `application ${application.uuid} answers ${wanted}`,
    seconds: 60,
  });
  await until(async () => (await application.releases()) === 1, { what: "one release runs", seconds: 60 });
  for (const { outcome } of deployed) {
    if (outcome.status === "finished") continue;
    const isGone = async () => (await application.traces(outcome.uuid)) === 0;
    await until(isGone, { what: `nothing is left of deployment ${outcome.uuid}`, seconds: 60 });
  }
}
