import { randomBytes, randomInt } from "node:crypto";
import type Docker from "dockerode";
import { afterAll, beforeAll } from "vitest";
import { type TestContainer, testContainer } from "./docker-container.ts";
import { dockerProblem, testDockerClient } from "./docker-engine.ts";
import { removeLabelled, removeLeftovers, TEST_LABEL, testInstance, testLabels } from "./docker-leftovers.ts";
import { dockerSlot } from "./docker-slot.ts";
import { describeUnless } from "./large-suite.ts";
import { lateReason } from "./late.ts";

/** This machine's engine for one suite. All objects created through it, or with its labels, are removed at the end. */
export interface DockerFixture {
  readonly client: Docker;
  /** Unique id of this suite, valid in Docker's names. */
  readonly run: string;
  /** Labels for objects that a test creates itself. */
  readonly labels: Readonly<Record<string, string>>;
  /** Instance id for a Berth under test: objects with this value in `berth.instance` are removed as well. */
  readonly instance: string;
  /** A unique name. */
  name(hint: string): string;
  /** The suite's own network, created at the first call. The machine can reach the containers in it. */
  network(): Promise<string>;
  /** Creates and starts a container in the suite's network. */
  container(options: ContainerOptions): Promise<TestContainer>;
}

export interface ContainerOptions {
  readonly image: string;
  readonly name?: string;
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Further options of the engine's API. */
  readonly raw?: Omit<Docker.ContainerCreateOptions, "HostConfig">;
  readonly hostConfig?: Docker.HostConfig;
}

/**
 * A suite on this machine's engine. It is skipped when no engine answers or an image is missing, and the end of the
 * run names the reason. The number of concurrent suites is limited.
 */
export function describeDocker(name: string, images: readonly string[], suite: (docker: DockerFixture) => void): void {
  describeUnless(dockerProblem(images), name, () => suite(dockerFixture()));
}

/** The same for a suite that tries a large matrix, see `describeLarge`. */
export function describeLargeDocker(
  name: string,
  images: readonly string[],
  suite: (docker: DockerFixture) => void,
): void {
  describeUnless(dockerProblem(images) ?? lateReason(), name, () => suite(dockerFixture()));
}

/** For use inside a `describe` that is skipped without an engine; `describeDocker` does both. */
export function dockerFixture(): DockerFixture {
  const { fixture, remove } = dockerObjects();
  let leave: (() => void) | undefined;

  beforeAll(async () => {
    leave = await dockerSlot();
    await removeLeftoversOnce(fixture.client);
  }, SLOT_MS_MAX);
  afterAll(async () => {
    try {
      const failures = await remove();
      if (failures.length > 0) throw new Error(`Left on the engine: ${failures.join("; ")}`);
    } finally {
      leave?.();
    }
  }, REMOVAL_MS_MAX);

  return fixture;
}

/** The same for a program that is not a test. */
export function dockerObjects(): {
  readonly fixture: DockerFixture;
  /** Removes all that was created. @returns What could not be removed, and why. */
  remove(): Promise<readonly string[]>;
} {
  const client = testDockerClient();
  const run = `berth-test-${randomBytes(5).toString("hex")}`;
  const labels = testLabels(run);
  const instance = testInstance(run);
  let names = 0;
  let network: Promise<string> | undefined;

  const fixture: DockerFixture = {
    client,
    run,
    labels,
    instance,
    name(hint) {
      names += 1;
      return `${run}-${hint}-${names}`;
    },
    network() {
      network ??= makeNetwork(client, `${run}-net`, labels);
      return network;
    },
    async container({ image, name = fixture.name("container"), argv, env, labels: own, raw, hostConfig }) {
      const networkName = await fixture.network();
      const { id } = await client.createContainer({
        ...raw,
        name,
        Image: image,
        ...(argv === undefined ? {} : { Cmd: [...argv] }),
        Env: Object.entries(env ?? {}).map(([key, value]) => `${key}=${value}`),
        Labels: { ...own, ...labels },
        // Without an init, a program that ignores SIGTERM would delay every stop by the whole grace period.
        HostConfig: { Init: true, NetworkMode: networkName, ...hostConfig },
      });
      await client.getContainer(id).start();
      return testContainer(client, id, { name, network: networkName });
    },
  };
  return {
    fixture,
    remove: async () => [
      ...(await removeLabelled(client, `berth.instance=${instance}`)),
      ...(await removeLabelled(client, `${TEST_LABEL}=${run}`)),
    ],
  };
}

const SLOT_MS_MAX = 900_000; // Earlier suites may take minutes.
const REMOVAL_MS_MAX = 120_000;

/**
 * With an explicit subnet: containers can request addresses only then, and Docker's own pools are small. What begins with
 * 10.201 to 10.204 belongs to the clusters of the tests.
 */
async function makeNetwork(client: Docker, name: string, labels: Readonly<Record<string, string>>): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const subnet = `10.${randomInt(205, 250)}.${randomInt(0, 256)}.0/24`;
    try {
      await client.createNetwork({
        Name: name,
        Labels: { ...labels },
        IPAM: { Driver: "default", Config: [{ Subnet: subnet }] },
      });
      return name;
    } catch (cause) {
      const isTaken = cause instanceof Error && /overlaps/.test(cause.message);
      if (!isTaken || attempt === 20) throw cause;
    }
  }
}

const SWEEP = Symbol.for("berth.test.docker.sweep");
// Once per worker: modules may be loaded several times, so the state is in the global scope.
const shared = globalThis as { [SWEEP]?: Promise<void> };

function removeLeftoversOnce(client: Docker): Promise<void> {
  shared[SWEEP] ??= removeLeftovers(client);
  return shared[SWEEP];
}
