import { type DockerFixture, type SwarmServer, startServerContainer, startSwarm, until } from "@berth/testing";
import { CRASHING, type CrashInstallation } from "./crash.fixture.ts";
import { keptBy, placedComposeApplication } from "./placed-compose.fixture.ts";
import { type PlacedResource, placedApplication } from "./placed-resource.fixture.ts";
import { type SeenServer, seenOverSsh, sshServer } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** A server of Berth's with a cluster whose nodes are all servers. */
export interface TestCluster {
  readonly server: TestServer;
  readonly nodes: readonly SwarmServer[];
  readonly uuids: readonly string[];
  /** The manager that Berth uses. */
  readonly manager: SwarmServer;
  readonly seen: SeenServer;
}

export interface ClusterOptions {
  readonly nodes?: number;
  readonly managers?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Images that the manager has. */
  readonly images?: readonly string[];
}

/** A server of Berth's with two machines, `node-1` and `node-2`, of which a cluster can be made. */
export async function twoMachines(docker: DockerFixture) {
  const [server, first, second] = await Promise.all([
    testServer(),
    startServerContainer(docker),
    startServerContainer(docker),
  ]);
  const uuids = await Promise.all([sshServer(server, first, "node-1"), sshServer(server, second, "node-2")]);
  return { server, machines: [first, second] as const, uuids };
}

export async function testCluster(docker: DockerFixture, options: ClusterOptions = {}): Promise<TestCluster> {
  const { nodes: size = 3, managers = 1, env = {}, images = [] } = options;
  const starting = testServer({
    main: CRASHING,
    env: { BERTH_INSTANCE_ID: docker.instance, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1", ...env },
  });
  try {
    const [server, nodes] = await Promise.all([starting, startSwarm(docker, { nodes: size, managers })]);
    const [manager, ...others] = nodes;
    if (manager === undefined) throw new Error("A swarm has a node.");
    // The first manager that is validated becomes the server of the cluster.
    const seen = await seenOverSsh(server, manager, "node-1");
    const uuids = await Promise.all(others.map((node, at) => sshServer(server, node, `node-${at + 2}`)));
    if (images.length > 0) await manager.loadImages(...images);
    return { server, nodes, manager, seen, uuids: [seen.serverUuid, ...uuids] };
  } catch (cause) {
    // A running deployment would create objects after the suite's were removed.
    await starting.then((server) => server.dispose()).catch(() => undefined);
    throw cause;
  }
}

/** Fields of an application with a container on each node of a cluster of three. */
export const ON_ALL_NODES = { replicas: 3, is_swarm_only_worker_nodes: false };

/**
 * A cluster of three nodes with an application on all of them and a compose file with data, which an application
 * has in its repository. Both were deployed once as version `0`.
 */
export async function clusterPlace(docker: DockerFixture, options: ClusterOptions = {}): Promise<CrashInstallation> {
  const cluster = await testCluster(docker, options);
  const { server, nodes } = cluster;
  try {
    const resources = await Promise.all([
      placedApplication(cluster.seen, ON_ALL_NODES),
      placedComposeApplication(cluster.seen),
    ]);
    const [, { uuid }] = resources;
    const kept = keptBy((script) => shellInStore(cluster, uuid, script));
    const before = new Set(await ownersOn(cluster).then((all) => all.map(({ id }) => id)));
    return {
      server,
      machines: nodes,
      resources: resources.map((one) => ({ ...one, ...seenOn(cluster, one), ...(one.uuid === uuid && { kept }) })),
      async strays() {
        const [found, services] = await Promise.all([ownersOn(cluster), servicesOn(cluster)]);
        const known = new Set(services.map(({ deployment }) => deployment));
        return found
          .filter(({ id, deployment }) => !before.has(id) && !known.has(deployment))
          .map(({ what, id }) => `${what} ${id}`);
      },
      async dispose() {
        await server.dispose();
        for (const one of resources) await one.dispose?.();
      },
    };
  } catch (cause) {
    await server.dispose();
    throw cause;
  }
}

/** What its releases are on all nodes. */
function seenOn(cluster: TestCluster, { uuid }: PlacedResource): Pick<PlacedResource, "releases" | "traces"> {
  return {
    async releases() {
      const [services, all] = await Promise.all([servicesOn(cluster), ownersOn(cluster)]);
      const running = all.filter(({ what, isRunning }) => what === "container" && isRunning);
      const live = services.filter(({ isStopped }) => !isStopped);
      const own = [...live, ...running].filter(({ resource }) => resource === uuid);
      return new Set(own.flatMap(({ deployment }) => deployment ?? [])).size;
    },
    async traces(deploymentUuid) {
      const all = [...(await servicesOn(cluster)), ...(await ownersOn(cluster))];
      return all.filter(({ deployment }) => deployment === deploymentUuid).length;
    },
  };
}

/** Runs a script in the container with the data, on whichever node it is, as soon as it runs. */
async function shellInStore({ nodes }: TestCluster, uuid: string, script: string): Promise<string> {
  const label = [`berth.resource=${uuid}`, "berth.role=task", "berth.container=store"];
  const { output } = await until(
    async () => {
      for (const node of nodes) {
        const [found] = await node.client.listContainers({ filters: { label, status: ["running"] } });
        if (found === undefined) continue;
        const ended = await node.exec(["docker", "exec", found.Id, "sh", "-c", script]);
        if (ended.exitCode === 0) return ended;
      }
      return undefined;
    },
    { what: "the container with the data runs", seconds: 60 },
  );
  return output;
}

/** Something on a node, and the deployment that it belongs to. */
interface Owned {
  readonly what: string;
  readonly id: string;
  readonly resource?: string | undefined;
  readonly deployment: string | undefined;
  readonly isRunning: boolean;
}

/** Containers, volumes, images and networks on all nodes. */
async function ownersOn({ nodes, manager }: TestCluster): Promise<readonly Owned[]> {
  const networks = await manager.client.listNetworks();
  const found = await Promise.all(
    nodes.map(async ({ client, name }) => {
      const [containers, volumes, images] = await Promise.all([
        client.listContainers({ all: true }),
        client.listVolumes(),
        client.listImages(),
      ]);
      return [
        ...containers.map(({ Id, State, Labels }) => {
          const [resource, deployment] = [Labels["berth.resource"], Labels["berth.deployment"]];
          return { what: "container", id: Id, resource, deployment, isRunning: State === "running" };
        }),
        ...(volumes.Volumes ?? []).map(({ Name }) => owned("volume", `${name} ${Name}`)),
        ...images
          .flatMap(({ Id, RepoTags }) => (RepoTags?.length ? RepoTags : [Id]))
          .map((tag) => owned("image", `${name} ${tag}`, deploymentOf(tag))),
      ];
    }),
  );
  return [...found.flat(), ...networks.map(({ Name }) => owned("network", Name))];
}

/** The deployment that an image's name contains. */
const deploymentOf = (tag: string): string | undefined => /^berth\/[^:]+:([^.]+)/.exec(tag)?.[1];

const owned = (what: string, id: string, deployment?: string): Owned => ({ what, id, deployment, isRunning: false });

async function servicesOn({ manager }: TestCluster) {
  return (await manager.client.listServices()).map(({ ID, Spec }) => ({
    what: "service",
    id: ID,
    resource: Spec?.Labels?.["berth.resource"],
    deployment: Spec?.Labels?.["berth.deployment"],
    isStopped: Spec?.TaskTemplate?.Placement?.Constraints?.includes("node.id==stopped") ?? false,
  }));
}
