import { until } from "@berth/testing";
import { type Answer, deployFirst, made, placeOf } from "./applications.fixture.ts";
import { execIn } from "./docker.fixture.ts";
import type { SeenServer } from "./seen-server.fixture.ts";
import type { TestServer } from "./server.fixture.ts";

export type HungStep = "build" | "start" | "health";

/** An image whose pull never ends, with its address for one server. */
export interface EndlessImage {
  /** The registry has its manifest, but its layers never arrive. */
  readonly image: string;
  readonly url: string;
}

/** A resource that is deployed repeatedly while Berth is killed. */
export interface PlacedResource {
  /** Its kind as in paths of the API. */
  readonly kind: "applications" | "databases" | "services";
  readonly uuid: string;
  /** Whether two of its releases may run at once, so that it never stops answering. */
  readonly isSeamless: boolean;
  /** Prepares another version for the next deployment. */
  change(version: string): Promise<void>;
  /** Makes the next deployment hang in this step. */
  hang?(step: HungStep, endlessImage: EndlessImage): Promise<void>;
  visit(): Promise<Answer>;
  /** Number of running releases. Kept builds of applications are stopped and not counted. */
  releases(): Promise<number>;
  /** Access to its data in a volume. */
  readonly kept?: { add(text: string): Promise<unknown>; all(): Promise<readonly string[]> };
  /** Number of a deployment's containers and images, running or not; always 0 for processes. */
  traces(deploymentUuid: string): Promise<number>;
  /** Removes its files on this machine. */
  dispose?(): Promise<void>;
}

/** @param more Further fields of the application. */
export async function placedApplication(seen: SeenServer, more: object = {}): Promise<PlacedResource> {
  const { server } = seen;
  const fields = { dockerfile: dockerfile("0"), ports_exposes: "80", ...more };
  const uuid = await deployedOnce(seen, "/applications/dockerfile", fields);
  const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
  const { hostname } = new URL(fqdn);
  return {
    ...placed(seen, { kind: "applications", uuid, size: 1 }),
    isSeamless: true,
    change: (version) => setDockerfile(server, uuid, dockerfile(version)),
    visit: () => seen.visit(hostname),
  };
}

export const setDockerfile = (server: TestServer, uuid: string, text: string): Promise<void> =>
  changed(server, `/applications/${uuid}`, { dockerfile: text });

/** @param lines Lines between the base image and the program, such as slow ones. */
export const dockerfile = (version: string, ...lines: string[]): string =>
  [
    "FROM busybox:stable",
    `RUN mkdir /www && printf %s ${version} >/www/index.html`,
    ...lines,
    'CMD ["httpd", "-f", "-p", "80", "-h", "/www"]',
    "",
  ].join("\n");

/** A database that shows its version by a setting. */
export async function placedDatabase(seen: SeenServer): Promise<PlacedResource> {
  const { server } = seen;
  const image = DATABASE_IMAGE;
  const configuration = (version: string) => ({ image, postgres_conf: `cluster_name = '${version}'` });
  const uuid = await deployedOnce(seen, "/databases/postgresql", {
    ...{ health_check_interval: 1, health_check_retries: 60 },
    ...configuration("0"),
  });
  const login = ["--username=postgres", "--quiet", "--no-align", "--tuples-only"];
  const sql = (statement: string) => execIn(seen, uuid, ["psql", ...login, `--command=${statement}`]);
  await sql("create table kept (at serial, what text)");
  return {
    ...placed(seen, { kind: "databases", uuid, size: 1 }),
    isSeamless: false,
    change: (version) => changed(server, `/databases/${uuid}`, configuration(version)),
    hang: (step, endlessImage) =>
      changed(server, `/databases/${uuid}`, { image, ...HUNG_DATABASE[step](endlessImage) }),
    visit: async () => ({ status: 200, body: await sql("show cluster_name") }),
    kept: {
      add: (text) => sql(`insert into kept (what) values ('${text}')`),
      all: async () => linesOf(await sql("select what from kept order by at")),
    },
  };
}

export const DATABASE_IMAGE = "postgres:17-alpine";

const HUNG_DATABASE: Readonly<Record<HungStep, (endlessImage: EndlessImage) => object>> = {
  build: ({ image }) => ({ image }),
  // The container starts at once.
  start: () => ({ postgres_conf: "work_mem = '8MB'" }),
  // The database listens on a port that nobody checks.
  health: () => ({ postgres_conf: "port = 5433" }),
};

/** Creates a resource and deploys it once. */
export async function deployedOnce({ server, serverUuid }: SeenServer, path: string, fields: object): Promise<string> {
  const uuid = await made(server, path, { ...(await placeOf(server)), server_uuid: serverUuid, ...fields });
  await deployFirst(server, uuid);
  return uuid;
}

export async function changed(server: TestServer, path: string, fields: object): Promise<void> {
  const { status, body } = await server.rest("PATCH", path, fields);
  if (status >= 300) throw new Error(`Not changed: ${path} ${status} ${JSON.stringify(body)}`);
}

/** Ends the deployments of a failed attempt, for which the next ones would wait. */
export async function endDeployments(server: TestServer, resources: readonly PlacedResource[]): Promise<void> {
  for (const { kind, uuid } of resources) {
    await until(async () => {
      const { body } = await server.rest("GET", `/deployments/${kind}/${uuid}?take=5`);
      // A deleted resource has no deployments.
      const { deployments = [] } = body as { deployments?: readonly { deployment_uuid: string; status: string }[] };
      const left = deployments.filter(({ status }) => status === "queued" || status === "in_progress");
      for (const { deployment_uuid } of left) await server.rest("POST", `/deployments/${deployment_uuid}/cancel`);
      return left.length === 0;
    });
  }
}

/** @param size Number of containers in a release. */
export function placed(
  { client }: SeenServer,
  { kind, uuid, size }: Pick<PlacedResource, "kind" | "uuid"> & { readonly size: number },
) {
  const containers = async (all: boolean, ...label: string[]) =>
    (await client.listContainers({ all, filters: { label } })).length;
  return {
    kind,
    uuid,
    releases: async () =>
      (await containers(kind !== "applications", `berth.resource=${uuid}`, "berth.role=release")) / size,
    async traces(deploymentUuid: string) {
      const reference = [`berth/*:${deploymentUuid}`, `berth/*:${deploymentUuid}.*`];
      const images = await client.listImages({ filters: { reference } });
      return (await containers(true, `berth.deployment=${deploymentUuid}`)) + images.length;
    },
  };
}

export const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
