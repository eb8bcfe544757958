import type { DockerFixture } from "./docker.ts";
import { type ServerContainer, startServerContainer } from "./server-container.ts";

/** A node of a swarm: a server in a container. */
export interface SwarmServer extends ServerContainer {
  /** The swarm's id of it. */
  readonly nodeId: string;
}

/** Starts servers and makes a swarm of them. The first `managers` of them manage it. Takes about 4 s. */
export async function startSwarm(
  docker: DockerFixture,
  { nodes, managers = 1 }: { readonly nodes: number; readonly managers?: number },
): Promise<readonly SwarmServer[]> {
  const servers = await Promise.all(Array.from({ length: nodes }, () => startServerContainer(docker)));
  const [first, ...others] = servers;
  if (first === undefined) return [];
  // A network of its own for overlays: the default pool may be that of the machine's own networks.
  const pool = ["--default-addr-pool", "10.201.0.0/16", "--default-addr-pool-mask-length", "24"];
  await run(first, ["docker", "swarm", "init", "--advertise-addr", first.address, ...pool]);
  const tokens = new Map<string, string>();
  for (const role of ["manager", "worker"]) {
    tokens.set(role, (await run(first, ["docker", "swarm", "join-token", "--quiet", role])).trim());
  }
  for (const [at, server] of others.entries()) {
    const token = tokens.get(at + 1 < managers ? "manager" : "worker") ?? "";
    await run(server, ["docker", "swarm", "join", "--token", token, `${first.address}:2377`]);
  }
  return await Promise.all(
    servers.map(async (server) => {
      const { Swarm } = (await server.client.info()) as { readonly Swarm: { readonly NodeID: string } };
      return { ...server, nodeId: Swarm.NodeID };
    }),
  );
}

async function run(server: ServerContainer, argv: readonly string[]): Promise<string> {
  const { exitCode, output } = await server.exec(argv);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} on ${server.name} ended with ${output}`);
  return output;
}
