// A deployment to the three nodes of a cluster compared with the same by hand: `docker build` on the manager, a copy of
// the image to the other nodes, `docker service create`, and asking until each container answers.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { deployFirst, made, placeOf, requestDeployment } from "../apps/server/e2e/applications.fixture.ts";
import { ON_ALL_NODES, type TestCluster, testCluster } from "../apps/server/e2e/cluster.fixture.ts";
import { dockerfile, setDockerfile } from "../apps/server/e2e/placed-resource.fixture.ts";
import { dockerObjects } from "../packages/testing/src/docker.ts";
import type { SwarmServer } from "../packages/testing/src/swarm.ts";
import { finished, retired, steps } from "./deployment.ts";
import { median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const ROUNDS = 5;
const PROBE_MS = 20;
const CONTEXT = "/root/by-hand";
const NETWORK = "by-hand";

export async function benchClusterDeploy(): Promise<readonly Figure[]> {
  const { fixture, remove } = dockerObjects();
  const folder = mkdtempSync(join(tmpdir(), "berth-by-hand-"));
  let cluster: TestCluster | undefined;
  try {
    cluster = await testCluster(fixture, { env: { BERTH_PATIENCE: "product" }, images: ["busybox:stable"] });
    const { server, manager } = cluster;
    await run(manager, "mkdir", CONTEXT);
    await run(manager, "docker", "network", "create", "--driver", "overlay", "--attachable", NETWORK);
    const fields = { server_uuid: cluster.uuids[0], dockerfile: dockerfile("0"), ports_exposes: "80", ...ON_ALL_NODES };
    const uuid = await made(server, "/applications/dockerfile", { ...(await placeOf(server)), ...fields });
    await deployFirst(server, uuid);
    const times = { hand: [] as number[], berth: [] as number[] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      const hand = await byHand(cluster, `${round}`, folder);
      await setDockerfile(server, uuid, dockerfile(`berth-${round}`));
      const startedAt = performance.now();
      const deployment = await requestDeployment(server, uuid);
      await finished(server, deployment);
      const ours = performance.now() - startedAt;
      const parts = await steps(server, deployment);
      console.log(`  by hand ${hand.toFixed(0)} ms, Berth ${ours.toFixed(0)} ms: ${parts}`);
      await retired(server, deployment);
      if (round === 0) continue;
      times.hand.push(hand);
      times.berth.push(ours);
    }
    const ratio = median(times.berth) / median(times.hand);
    return [atMost("Deployment to 3 nodes of a cluster against the same docker commands by hand", ratio, 1.15)];
  } finally {
    await cluster?.server.dispose();
    for (const failure of await remove()) console.log(`  ${failure}`);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function byHand({ manager, nodes }: TestCluster, version: string, folder: string): Promise<number> {
  const name = `by-hand-${version}`;
  const stdin = Readable.from([dockerfile(name)]);
  await manager.container.exec(["dd", `of=${CONTEXT}/Dockerfile`], { stdin });
  const startedAt = performance.now();
  await run(manager, "docker", "build", "--quiet", "--tag", name, CONTEXT);
  const others = nodes.filter((node) => node !== manager);
  await Promise.all(others.map((node) => copyImage(name, manager, node)));
  const { Id: id } = await manager.client.getImage(name).inspect();
  const options = ["--detach", "--no-resolve-image", "--network", NETWORK, "--endpoint-mode", "dnsrr"];
  await run(manager, "docker", "service", "create", "--name", name, "--replicas", "3", ...options, id);
  while (!(await areRunning(manager, name))) await pause(PROBE_MS);
  await Promise.all(nodes.map((node) => untilAnswering(node, name)));
  writeFileSync(join(folder, "upstreams.new"), name);
  renameSync(join(folder, "upstreams.new"), join(folder, "upstreams"));
  const took = performance.now() - startedAt;
  await run(manager, "docker", "service", "rm", name);
  return took;
}

async function copyImage(image: string, from: SwarmServer, to: SwarmServer): Promise<void> {
  const progress = await to.client.loadImage(await from.client.getImage(image).get());
  await new Promise((resolve, reject) => progress.on("end", resolve).on("error", reject).resume());
}

async function areRunning({ client }: SwarmServer, service: string): Promise<boolean> {
  const filters = JSON.stringify({ service: [service], "desired-state": ["running"] });
  const tasks = (await client.listTasks({ filters })) as readonly { readonly Status: { readonly State: string } }[];
  return tasks.filter(({ Status }) => Status.State === "running").length === 3;
}

async function untilAnswering(node: SwarmServer, service: string): Promise<void> {
  const filters = { label: [`com.docker.swarm.service.name=${service}`] };
  const [container] = await node.client.listContainers({ filters });
  if (container === undefined) throw new Error(`${node.name} has no container of ${service}.`);
  const ask = ["docker", "exec", container.Id, "wget", "-q", "-O", "-", "http://127.0.0.1/"];
  while ((await node.exec(ask)).exitCode !== 0) await pause(PROBE_MS);
}

async function run(node: SwarmServer, ...argv: readonly string[]): Promise<void> {
  const { exitCode, output } = await node.exec(argv);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${output}`);
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
