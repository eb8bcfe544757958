// A deployment to a Docker engine compared with the same by hand: build from the cache, start, poll until it answers,
// switch. By hand means `docker build`, `docker run` and `docker inspect`; in addition, the same calls through
// dockerode in an otherwise idle process are measured.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { deploy, placeOf, requestDeployment } from "../apps/server/e2e/applications.fixture.ts";
import { dockerServer } from "../apps/server/e2e/docker.fixture.ts";
import type { TestServer } from "../apps/server/e2e/server.fixture.ts";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { removeLabelled, testInstance } from "../packages/testing/src/docker-leftovers.ts";
import { finished, retired, steps } from "./deployment.ts";
import { median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const ROUNDS = 7;
const PROBE_MS = 5;
const DOCKERFILE = [
  "FROM busybox:stable",
  "RUN mkdir /www && echo ok >/www/index.html",
  'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
  "",
].join("\n");

export async function benchDockerDeploy(): Promise<readonly Figure[]> {
  const run = `berth-bench-${randomBytes(4).toString("hex")}`;
  const docker = dockerClient(localHost("here"));
  const instance = testInstance(run);
  const folder = mkdtempSync(join(tmpdir(), "berth-by-hand-"));
  writeFileSync(join(folder, "Dockerfile"), DOCKERFILE);
  const network = await docker.createNetwork({ Name: run, Labels: { "berth.instance": instance } });
  const berth = await dockerServer({ instance, name: (hint) => `${run}-${hint}` });
  const hand = { docker, folder, network: run, labels: { "berth.instance": instance } };
  try {
    const uuid = await createApplication(berth);
    await deploy(berth, uuid);
    const times = { commands: [] as number[], library: [] as number[], berth: [] as number[] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      const commands = await byHand(hand, () => startByCommands(hand));
      const library = await byHand(hand, () => startByLibrary(hand));
      const startedAt = performance.now();
      const deployment = await requestDeployment(berth, uuid);
      await finished(berth, deployment);
      const ours = performance.now() - startedAt;
      console.log(
        `  by hand ${ms(commands)}, library ${ms(library)}, Berth ${ms(ours)}: ${await steps(berth, deployment)}`,
      );
      await retired(berth, deployment);
      if (round === 0) continue;
      times.commands.push(commands);
      times.library.push(library);
      times.berth.push(ours);
    }
    const [commands, library, ours] = [median(times.commands), median(times.library), median(times.berth)];
    console.log(`  medians: by hand ${ms(commands)}, library ${ms(library)}, Berth ${ms(ours)}`);
    return [
      atMost("Deployment to Docker against the same docker commands by hand", ours / commands, 1.15),
      atMost("Deployment to Docker against the same through dockerode alone", ours / library, 1.15),
    ];
  } finally {
    await berth.dispose();
    for (const failure of await removeLabelled(docker, `berth.instance=${instance}`)) console.log(`  ${failure}`);
    await docker
      .getImage(run)
      .remove({ force: true })
      .catch(() => undefined);
    await network.remove().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;

async function createApplication(berth: TestServer & { readonly dockerUuid: string }): Promise<string> {
  const { status, body } = await berth.rest("POST", "/applications/dockerfile", {
    ...(await placeOf(berth)),
    server_uuid: berth.dockerUuid,
    dockerfile: DOCKERFILE,
    ports_exposes: "80",
  });
  if (status !== 201) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`);
  return (body as { uuid: string }).uuid;
}

interface Hand {
  readonly docker: ReturnType<typeof dockerClient>;
  readonly folder: string;
  readonly network: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Started {
  readonly address: string;
  remove(): Promise<unknown>;
}

async function byHand({ folder }: Hand, start: () => Promise<Started>): Promise<number> {
  const startedAt = performance.now();
  const { address, remove } = await start();
  while (!(await answers(address))) await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
  writeFileSync(join(folder, "upstream.new"), `${address}:80`);
  renameSync(join(folder, "upstream.new"), join(folder, "upstream"));
  const took = performance.now() - startedAt;
  await remove();
  return took;
}

async function startByCommands({ docker, folder, network, labels }: Hand): Promise<Started> {
  await command("build", "--tag", network, folder);
  const label = Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]);
  const id = await command("run", "--detach", "--init", "--network", network, ...label, network);
  const address = await command("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id);
  return { address, remove: () => docker.getContainer(id).remove({ force: true }) };
}

async function command(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("docker", args);
  return stdout.trim();
}

async function startByLibrary({ docker, folder, network, labels }: Hand): Promise<Started> {
  const stream = await docker.buildImage({ context: folder, src: ["Dockerfile"] }, { t: network, version: "2" });
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(stream, (error) => (error ? reject(error) : resolve())),
  );
  const container = await docker.createContainer({
    Image: network,
    Labels: { ...labels },
    HostConfig: { Init: true, NetworkMode: network },
  });
  await container.start();
  const { NetworkSettings } = await container.inspect();
  const address = NetworkSettings.Networks[network]?.IPAddress ?? "";
  return { address, remove: () => container.remove({ force: true }) };
}

function answers(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request({ host, port: 80, agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200));
    });
    sent.on("error", () => resolve(false));
    sent.end();
  });
}
