import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DockerFixture, type ServerContainer, startServerContainer } from "@berth/testing";
import { onTestFinished } from "vitest";
import { freshBuild } from "../../../tooling/build/fresh.mjs";
import { createApplication, deployFirst, get, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { dockerServer } from "./docker.fixture.ts";
import { placedComposeApplication, placedService, placedStack } from "./placed-compose.fixture.ts";
import {
  changed,
  DATABASE_IMAGE,
  type PlacedResource,
  placedApplication,
  placedDatabase,
} from "./placed-resource.fixture.ts";
import { type SeenServer, seenHere, seenOverSsh } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** A server that kills itself when `BERTH_CRASH` names a moment of a step. */
export const CRASHING = join(freshBuild("test-server"), "crash-main.js");

/** Server with resources that were deployed once, as version `0`. */
export interface CrashInstallation {
  readonly server: TestServer;
  readonly resources: readonly PlacedResource[];
  /** Machines of the servers; empty for resources on Berth's own machine. */
  readonly machines: readonly ServerContainer[];
  /** What a deployment left on the machines besides releases that exist. Not every place can tell. */
  strays?(): Promise<readonly string[]>;
  dispose(): Promise<void>;
}

/** Resources that run as processes of this machine. */
export async function processPlace(): Promise<CrashInstallation> {
  const server = await testServer({ main: CRASHING });
  const source = temporaryRepository(plainServer("0"));
  const { uuid, host } = await createApplication(server, source, { name: "plain" });
  await deployFirst(server, uuid);
  return {
    server,
    machines: [],
    resources: [
      {
        kind: "applications",
        uuid,
        isSeamless: true,
        change: async (version) => void source.commit(plainServer(version)),
        visit: () => get(server, host),
        releases: async () => releasesOf(uuid).size,
        traces: async () => 0,
      },
    ],
    async dispose() {
      await server.dispose();
      source.dispose();
    },
  };
}

/** Kinds of resources for an engine. */
export type PlacedKind = keyof typeof MAKERS;

const MAKERS = {
  application: placedApplication,
  database: placedDatabase,
  stack: placedStack,
  service: placedService,
  compose: placedComposeApplication,
} as const;

/** Resources on this machine's engine, and on each machine over SSH, one of each kind. */
export interface Placement {
  readonly here?: readonly PlacedKind[];
  readonly machines?: readonly (readonly PlacedKind[])[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Docker servers with the placed resources, in the order of the placement. */
export async function enginePlace(docker: DockerFixture, placement: Placement): Promise<CrashInstallation> {
  const { here, machines: remote = [], env = {} } = placement;
  const own = { BERTH_INSTANCE_ID: docker.instance, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" };
  const options = { main: CRASHING, env: { ...own, ...env } };
  const starting =
    here === undefined
      ? testServer(options).then((server) => ({ server, local: [] }))
      : dockerServer(docker, options).then((server) => ({ server, local: [seenHere(docker, server)] }));
  try {
    const [{ server, local }, ...machines] = await Promise.all([
      starting,
      ...remote.map(() => startServerContainer(docker)),
    ]);
    const others = machines.map(async (machine, at) => {
      if (remote[at]?.includes("database")) await machine.loadImages(DATABASE_IMAGE);
      return await seenOverSsh(server, machine, `web-${at}`);
    });
    const kinds = [...(here === undefined ? [] : [here]), ...remote];
    const seen = [...local, ...(await Promise.all(others))];
    const placed = await Promise.all(seen.map((one, at) => placedOn(one, kinds[at] ?? [])));
    const resources = placed.flat();
    const dispose = async () => {
      await server.dispose();
      for (const one of resources) await one.dispose?.();
    };
    return { server, machines, resources, dispose };
  } catch (cause) {
    // A running deployment would create objects after the suite's were removed.
    await starting.then(({ server }) => server.dispose()).catch(() => undefined);
    throw cause;
  }
}

async function placedOn(seen: SeenServer, kinds: readonly PlacedKind[]): Promise<readonly PlacedResource[]> {
  await changed(seen.server, `/servers/${seen.serverUuid}`, { concurrent_builds: Math.max(kinds.length, 1) });
  return await Promise.all(kinds.map((kind) => MAKERS[kind](seen)));
}

/** Requests the resource continuously, and counts every other answer as a failure. */
export function watching(resource: PlacedResource) {
  const failures: string[] = [];
  // A resource that stops before its successor starts does not answer in between.
  let isOn = resource.isSeamless;
  // Ends it even if the test fails.
  onTestFinished(() => {
    isOn = false;
  });
  const loop = (async () => {
    while (isOn) {
      await resource.visit().then(
        ({ status, body }) => status === 200 || failures.push(`${status} ${body}`),
        (cause: unknown) => failures.push(String(cause)),
      );
      await new Promise((resolve) => setTimeout(resolve, WATCH_PAUSE_MS));
    }
  })();
  return {
    end: async () => {
      isOn = false;
      await loop;
      return failures;
    },
  };
}

/** Longer gaps would be noticed anyway, and ten constantly requested resources keep a processor busy. */
const WATCH_PAUSE_MS = 25;

/** Ports of all processes of the resource, one per running release. */
function releasesOf(resourceUuid: string): ReadonlySet<string> {
  const ports = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const environment = environmentOf(pid);
    if (!environment.includes(`BERTH_RESOURCE_UUID=${resourceUuid}`)) continue;
    const port = environment.find((entry) => entry.startsWith("PORT="));
    if (port !== undefined) ports.add(port);
  }
  return ports;
}

/** Empty for a process that has exited or cannot be read. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
