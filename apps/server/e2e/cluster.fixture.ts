import { type DockerFixture, type SwarmServer, startSwarm } from "@berth/testing";
import { CRASHING, type Place } from "./crash.fixture.ts";
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

/** A cluster of three nodes with an application on all of them, deployed once as version `0`. */
export async function clusterPlace(docker: DockerFixture, options: ClusterOptions = {}): Promise<Place> {
  const cluster = await testCluster(docker, options);
  const { server, nodes } = cluster;
  try {
    const application = await clusterApplication(cluster);
    const before = new Set(await ownersOn(cluster).then((all) => all.map(({ id }) => id)));
    return {
      server,
      machines: nodes,
      resources: [application],
      async strays() {
        const [found, services] = await Promise.all([ownersOn(cluster), servicesOn(cluster)]);
        const known = new Set(services.map(({ deployment }) => deployment));
        return found
          .filter(({ id, deployment }) => !before.has(id) && !known.has(deployment))
          .map(({ what, id }) => `${what} ${id}`);
      },
      dispose: () => server.dispose(),
    };
  } catch (cause) {
    await server.dispose();
    throw cause;
  }
}

async function clusterApplication(cluster: TestCluster): Promise<PlacedResource> {
  const application = await placedApplication(cluster.seen, ON_ALL_NODES);
  return {
    ...application,
    async releases() {
      const [services, all] = await Promise.all([servicesOn(cluster), ownersOn(cluster)]);
      const running = all.filter(({ what, isRunning }) => what === "container" && isRunning);
      const live = services.filter(({ isStopped }) => !isStopped);
      return new Set([...live, ...running].flatMap(({ deployment }) => deployment ?? [])).size;
    },
    async traces(deploymentUuid) {
      const all = [...(await servicesOn(cluster)), ...(await ownersOn(cluster))];
      return all.filter(({ deployment }) => deployment === deploymentUuid).length;
    },
  };
}

/** Something on a node, and the deployment that it belongs to. */
interface Owned {
  readonly what: string;
  readonly id: string;
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
          const deployment = Labels["berth.deployment"];
          return { what: "container", id: Id, deployment, isRunning: State === "running" };
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
    deployment: Spec?.Labels?.["berth.deployment"],
    isStopped: Spec?.TaskTemplate?.Placement?.Constraints?.includes("node.id==stopped") ?? false,
  }));
}
