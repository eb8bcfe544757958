import type { DockerFixture } from "@berth/testing";
import { type Answer, deployFirst, get, made, placeOf } from "./applications.fixture.ts";
import { type DockerServer, execIn } from "./docker.fixture.ts";

/** What is deployed again and again while Berth dies. */
export interface PlacedResource {
  /** As paths of the API have it. */
  readonly kind: "applications" | "databases" | "services";
  readonly uuid: string;
  /** Two of its releases may run at once, so that something answers throughout. */
  readonly isSeamless: boolean;
  /** Sets what the next deployment shall serve. */
  change(version: string): Promise<void>;
  visit(): Promise<Answer>;
  /** How many of its releases run. What a rollback may need is kept beside, stopped, for applications only. */
  releases(): Promise<number>;
  /** What it keeps in a volume. */
  readonly kept?: { add(text: string): Promise<unknown>; all(): Promise<readonly string[]> };
  /** How many containers and images of a deployment there are, running or not. Processes leave none of either. */
  traces(deploymentUuid: string): Promise<number>;
}

/** Says which version it is by a setting of its configuration. */
export async function placedDatabase(docker: DockerFixture, server: DockerServer): Promise<PlacedResource> {
  const configuration = (version: string) => ({ postgres_conf: `cluster_name = '${version}'` });
  const uuid = await make(server, "/databases/postgresql", {
    ...{ image: "postgres:17-alpine", health_check_interval: 1, health_check_retries: 60 },
    ...configuration("0"),
  });
  const login = ["--username=postgres", "--quiet", "--no-align", "--tuples-only"];
  const sql = (statement: string) => execIn(docker, uuid, ["psql", ...login, `--command=${statement}`]);
  await sql("create table kept (at serial, what text)");
  return {
    ...placed(docker, { kind: "databases", uuid, size: 1 }),
    isSeamless: false,
    change: (version) => changed(server, `/databases/${uuid}`, configuration(version)),
    visit: async () => ({ status: 200, body: await sql("show cluster_name") }),
    kept: {
      add: (text) => sql(`insert into kept (what) values ('${text}')`),
      all: async () => linesOf(await sql("select what from kept order by at")),
    },
  };
}

/** Several containers, of which one keeps something. */
export async function placedStack(docker: DockerFixture, server: DockerServer): Promise<PlacedResource> {
  const store = `
  store:
    image: busybox:stable
    init: true
    command: ["httpd", "-f", "-p", "8000", "-h", "/data"]
    volumes: ["data:/data"]
    healthcheck: { test: ["CMD", "test", "-d", "/data"], interval: 500ms, retries: 40 }
volumes: { data: }
`;
  const { uuid, resource } = await composed(docker, server, { text: (version) => web(version) + store, size: 2 });
  const shell = (script: string) => execIn(docker, uuid, ["sh", "-c", script], "berth.container=store");
  return {
    ...resource,
    isSeamless: false,
    kept: {
      add: (text) => shell(`echo ${text} >>/data/kept; sync`),
      all: async () => linesOf(await shell("cat /data/kept")),
    },
  };
}

/** One container, of which two may run. */
export async function placedService(docker: DockerFixture, server: DockerServer): Promise<PlacedResource> {
  const { resource } = await composed(docker, server, { text: web, size: 1 });
  return { ...resource, isSeamless: true };
}

const web = (version: string): string => `
services:
  web:
    image: busybox:stable
    init: true
    command: ["sh", "-c", "mkdir /www; printf %s $$VERSION >/www/index.html; exec httpd -f -p 8080 -h /www"]
    environment: { SERVICE_URL_WEB_8080: /, VERSION: "${version}" }
    healthcheck: { test: ["CMD", "wget", "-qO", "/dev/null", "http://127.0.0.1:8080/"], interval: 500ms, retries: 40 }
`;

async function composed(
  docker: DockerFixture,
  server: DockerServer,
  { text, size }: { readonly text: (version: string) => string; readonly size: number },
) {
  const uuid = await make(server, "/services", { docker_compose: text("0") });
  const { body } = await server.rest("GET", `/services/${uuid}`);
  const [{ fqdn } = { fqdn: "" }] = (body as { applications: { fqdn: string }[] }).applications;
  const { hostname } = new URL(fqdn);
  const resource = {
    ...placed(docker, { kind: "services", uuid, size }),
    change: (version: string) => changed(server, `/services/${uuid}`, { docker_compose: text(version) }),
    visit: (): Promise<Answer> => get(server, hostname),
  };
  return { uuid, resource };
}

/** Makes it and deploys it once. */
async function make(server: DockerServer, path: string, fields: object): Promise<string> {
  const where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
  const uuid = await made(server, path, { ...where, ...fields });
  await deployFirst(server, uuid);
  return uuid;
}

async function changed(server: DockerServer, path: string, fields: object): Promise<void> {
  const { status, body } = await server.rest("PATCH", path, fields);
  if (status !== 200) throw new Error(`Not changed: ${path} ${status} ${JSON.stringify(body)}`);
}

/** @param size Of a release, in containers. */
function placed(
  { client }: DockerFixture,
  { kind, uuid, size }: Pick<PlacedResource, "kind" | "uuid"> & { readonly size: number },
) {
  const containers = async (label: string) =>
    (await client.listContainers({ all: true, filters: { label: [label] } })).length;
  return {
    kind,
    uuid,
    // Nothing of what was replaced stays beside it.
    releases: async () => (await containers(`berth.resource=${uuid}`)) / size,
    traces: (deploymentUuid: string) => containers(`berth.deployment=${deploymentUuid}`),
  };
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
