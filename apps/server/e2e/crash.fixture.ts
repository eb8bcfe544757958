import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import { type DockerFixture, type ServerContainer, startServerContainer } from "@berth/testing";
import {
  type Answer,
  createApplication,
  deployFirst,
  get,
  made,
  placeOf,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { type PlacedResource, placedDatabase, placedService, placedStack } from "./placed-resource.fixture.ts";
import { type TestServer, testServer, until } from "./server.fixture.ts";

/** A server that kills itself when `BERTH_CRASH` names a moment of a step. */
const CRASHING = fileURLToPath(new URL("./crash-main.ts", import.meta.url));

/** Where resources run that were deployed once: their version is `0`. */
export interface Place {
  readonly server: TestServer;
  readonly resources: readonly PlacedResource[];
  /** The machines behind it; none for what runs on Berth's own. */
  readonly machines: readonly ServerContainer[];
  dispose(): Promise<void>;
}

/** Processes of this machine. */
export async function processPlace(): Promise<Place> {
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

/** This machine's Docker engine, with one resource of each kind. */
export async function dockerPlace(
  docker: DockerFixture,
  env: Readonly<Record<string, string>> = {},
  kinds: readonly (keyof typeof MAKERS)[] = ["application", "database", "stack", "service"],
): Promise<Place> {
  const server = await dockerServer(docker, { main: CRASHING, env });
  await server.rest("PATCH", `/servers/${server.dockerUuid}`, { concurrent_builds: kinds.length });
  const resources = await Promise.all(kinds.map((kind) => MAKERS[kind](docker, server)));
  return { server, machines: [], resources, dispose: () => server.dispose() };
}

/** This machine's Docker engine and another one over SSH, with one application each. */
export async function disturbedPlace(docker: DockerFixture, env: Readonly<Record<string, string>>): Promise<Place> {
  const [server, machine] = await Promise.all([
    dockerServer(docker, { main: CRASHING, env }),
    startServerContainer(docker),
  ]);
  const resources = await Promise.all([localApplication(docker, server), sshApplication(server, machine, 0)]);
  return { server, machines: [machine], resources, dispose: () => server.dispose() };
}

const localApplication = ({ client }: DockerFixture, server: DockerServer): Promise<PlacedResource> =>
  dockerApplication(server, server.dockerUuid, {
    visit: (host) => get(server, host),
    containers: async (labels, all = false) =>
      (await client.listContainers({ all, filters: { label: [...labels] } })).length,
    images: async (reference) => (await client.listImages({ filters: { reference: [reference] } })).length,
  });

const MAKERS = {
  application: localApplication,
  database: placedDatabase,
  stack: placedStack,
  service: placedService,
} as const;

/** Machines over SSH, two unless said otherwise, with one application each. */
export async function sshPlace(
  docker: DockerFixture,
  {
    machines: count = 2,
    env = {},
  }: { readonly machines?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Place> {
  const [server, ...machines] = await Promise.all([
    testServer({ main: CRASHING, env }),
    ...Array.from({ length: count }, () => startServerContainer(docker)),
  ]);
  const resources = await Promise.all(machines.map((machine, index) => sshApplication(server, machine, index)));
  return { server, machines, resources, dispose: () => server.dispose() };
}

/** Registers a machine as a server that is reached over SSH. @returns Its uuid, once it can be used. */
export async function sshServer(server: TestServer, machine: ServerContainer, name: string): Promise<string> {
  await machine.loadImages("busybox:stable", "caddy:2");
  const key = await made(server, "/security/keys", { name: machine.name, private_key: machine.keys.privateKey });
  const serverUuid = await made(server, "/servers", {
    name,
    ip: machine.address,
    private_key_uuid: key,
    proxy_type: "caddy",
    instant_validate: true,
  });
  await until(async () => {
    const { body } = await server.rest("GET", `/servers/${serverUuid}`);
    return (body as { is_usable: boolean }).is_usable;
  }, 90_000);
  return serverUuid;
}

async function sshApplication(server: TestServer, machine: ServerContainer, index: number): Promise<PlacedResource> {
  const serverUuid = await sshServer(server, machine, `web-${index}`);
  return await dockerApplication(server, serverUuid, {
    visit: (host) => visit(machine.address, host),
    containers: (labels, all = false) =>
      countedOn(machine, ["ps", all ? "-aq" : "-q", ...labels.flatMap((label) => ["--filter", `label=${label}`])]),
    images: (reference) => countedOn(machine, ["images", "-q", "--filter", `reference=${reference}`]),
  });
}

/** How many lines docker prints. */
async function countedOn(machine: ServerContainer, args: readonly string[]): Promise<number> {
  const { output } = await machine.exec(["docker", ...args]);
  return output.split("\n").filter((line) => line.trim() !== "").length;
}

interface Machine {
  visit(host: string): Promise<Answer>;
  /** With all of the labels. Stopped ones only with `all`. */
  containers(labels: readonly string[], all?: boolean): Promise<number>;
  images(reference: string): Promise<number>;
}

async function dockerApplication(server: TestServer, serverUuid: string, machine: Machine): Promise<PlacedResource> {
  const uuid = await made(server, "/applications/dockerfile", {
    ...(await placeOf(server)),
    server_uuid: serverUuid,
    dockerfile: dockerfile("0"),
    ports_exposes: "80",
  });
  await deployFirst(server, uuid);
  const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
  const host = new URL(fqdn).hostname;
  return {
    kind: "applications",
    uuid,
    isSeamless: true,
    change: (version) => setDockerfile(server, uuid, dockerfile(version)),
    visit: () => machine.visit(host),
    releases: () => machine.containers([`berth.resource=${uuid}`, "berth.role=release"]),
    async traces(deploymentUuid) {
      const containers = await machine.containers([`berth.deployment=${deploymentUuid}`], true);
      return containers + (await machine.images(`berth/*:${deploymentUuid}`));
    },
  };
}

/** Asks again and again; every answer that is not the resource's is a failure. */
export function watching(resource: PlacedResource) {
  const failures: string[] = [];
  // What stops before its successor starts is away meanwhile.
  let isOn = resource.isSeamless;
  const loop = (async () => {
    while (isOn) {
      await resource.visit().then(
        ({ status, body }) => status === 200 || failures.push(`${status} ${body}`),
        (cause: unknown) => failures.push(String(cause)),
      );
      await new Promise((resolve) => setTimeout(resolve, 10));
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

export async function setDockerfile(server: TestServer, uuid: string, text: string): Promise<void> {
  const { status, body } = await server.rest("PATCH", `/applications/${uuid}`, { dockerfile: text });
  if (status !== 200) throw new Error(`Not changed: ${status} ${JSON.stringify(body)}`);
}

/** @param lines Between the base and the program, as something that takes its time. */
export const dockerfile = (version: string, ...lines: string[]): string =>
  [
    "FROM busybox:stable",
    `RUN mkdir /www && printf %s ${version} >/www/index.html`,
    ...lines,
    'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
    "",
  ].join("\n");

function visit(address: string, host: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: address, port: 80, headers: { host }, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** The ports of all processes that belong to the resource: one for each release that runs. */
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

/** Empty for a process that has ended or that we may not look into. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
