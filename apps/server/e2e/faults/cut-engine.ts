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

const APPLICATIONS = 4;
const CUT_MS_MIN = 500;
/** Cuts during one undisturbed round of deployments: on a machine that is slower they are as much slower. */
const CUTS_PER_ROUND = 4;
/** Answers are damaged in every other span of this many cuts. */
const DAMAGE_CUTS = 10;
const DEPLOYMENT_SECONDS_MAX = 600;
/** Three of 108 may fail: those that lost each of their attempts. */
const FAILED_SHARE_MAX = 3 / 108;

/**
 * Cuts half of the connections to the engine every half second while applications are deployed and read, less often
 * where an undisturbed deployment takes longer than two seconds.
 */
export async function cutEngine(deployments: number): Promise<string> {
  const client = testDockerClient();
  const engine = await client.version().catch(() => undefined);
  if (engine === undefined) throw new NotSupported(`no Docker engine answers on ${TEST_DOCKER_SOCKET}`);
  const run = `berth-faults-${randomBytes(4).toString("hex")}`;
  const docker = { client, instance: testInstance(run), name: (hint: string) => `${run}-${hint}` };
  const folder = mkdtempSync(join(tmpdir(), "berth-cut-"));
  const socketPath = join(folder, "engine.sock");
  const way = await relay({ path: TEST_DOCKER_SOCKET }, socketPath);
  const server = await dockerServer(docker, { env: { BERTH_DOCKER_SOCKET: socketPath } });
  try {
    const seen = seenHere(docker, server);
    const applications = await Promise.all(Array.from({ length: APPLICATIONS }, () => placedApplication(seen)));
    return await deployThrough(way, server, applications, Math.ceil(deployments / APPLICATIONS));
  } finally {
    await server.dispose();
    await way.close();
    rmSync(folder, { recursive: true, force: true });
    for (const failure of await removeLabelled(client, `berth.instance=${docker.instance}`)) console.log(failure);
  }
}

async function deployThrough(
  way: Relay,
  server: TestServer,
  applications: readonly PlacedResource[],
  rounds: number,
): Promise<string> {
  const pid = server.pid();
  const undisturbedAt = performance.now();
  await Promise.all(applications.map((application) => deployedInTurn(server, application, 0, 1)));
  const cutMs = Math.max(CUT_MS_MIN, (performance.now() - undisturbedAt) / CUTS_PER_ROUND);
  console.log(`  a cut every ${Math.round(cutMs)} ms`);
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
  const ended = await Promise.all(applications.map((application) => deployedInTurn(server, application, 1, rounds)));
  await Promise.all([disturbing(), reading()]);
  way.damage(false);
  const seconds = (performance.now() - beganAt) / 1000;

  const outcomes = ended.flat();
  const failed = outcomes.filter(({ outcome }) => outcome.status !== "finished");
  for (const { outcome } of failed) console.log(`  ${outcome.status}: ${outcome.error}`);
  for (const [at, application] of applications.entries()) await isAsDeployed(application, ended[at] ?? []);
  expect(server.pid() === pid && (await isHealthy(server)), "the server's process ended");
  const finished = `${outcomes.length - failed.length} of ${outcomes.length} deployments finished`;
  const result = `${finished} in ${Math.round(seconds)} s with ${cuts} cuts, one every ${Math.round(cutMs)} ms`;
  expect(failed.length <= outcomes.length * FAILED_SHARE_MAX, `only ${result}: ${failed[0]?.outcome.error}`);
  return `${result}; each application answers as its last one says, and nothing is left of the others`;
}

interface Deployed {
  /** What the application answers when the deployment finished. */
  readonly version: string;
  readonly outcome: Outcome;
}

async function deployedInTurn(
  server: TestServer,
  application: PlacedResource,
  before: number,
  rounds: number,
): Promise<readonly Deployed[]> {
  const all: Deployed[] = [];
  for (let round = before + 1; round <= before + rounds; round += 1) {
    const version = `${application.uuid}-${round}`;
    await application.change(version);
    const deployment = await requestDeployment(server, application.uuid);
    all.push({ version, outcome: await outcomeOf(server, deployment, DEPLOYMENT_SECONDS_MAX * 1000) });
  }
  return all;
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
