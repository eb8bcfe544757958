import type { ServerRecord, SwarmNode } from "@berth/core/ports";
import { type ClusterRecords, ENGINES, type EngineKind } from "@berth/core/server";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";
import { isAnyOf } from "./lookup.ts";
import { storable } from "./storable.ts";

const CLUSTER_ENGINES = Object.entries(ENGINES).flatMap(([name, row]) => (row.isCluster ? [name] : []));
const isClusterEngine = sql<boolean>`engine in (${sql.join(CLUSTER_ENGINES.map((name) => sql.lit(name)))})`;
const isManager = sql<boolean>`settings @> '{"is_swarm_manager": true}'`;

/** The server of the same team that stands for a server's cluster: the one that drives it, or else the first manager. */
export const SWARM_CLUSTER = sql<ServerRecord["swarm_cluster"]>`(
  select id from server as manager
  where server.swarm_node_id is not null and manager.team_id = server.team_id and ${isManager}
    and (swarm_cluster_id = server.swarm_cluster_id or swarm_node_id = any (server.swarm_manager_ids))
  order by ${isClusterEngine} desc, id limit 1
)`;

const isUnused = sql<boolean>`not exists (select from resource where server_id = server.id)
  and not exists (select from release where server_id = server.id)`;

export async function clusterRecords(
  { db }: StoreContext,
  id: number,
  node: SwarmNode | null,
): Promise<ClusterRecords> {
  const unused = db.selectFrom("server").select("id").where("id", "=", id).where(isUnused);
  const isInUse = (await unused.executeTakeFirst()) === undefined;
  if (node === null) return { isInUse, managers: [] };
  const managers = await db
    .selectFrom("server")
    .select(["team_id", "name", "engine"])
    .where("id", "<>", id)
    .where(isManager)
    .where(({ or, eb }) =>
      or([
        isAnyOf("swarm_node_id", managerIds(node)),
        eb("swarm_cluster_id", "=", node.clusterId === null ? null : storable(node.clusterId)),
      ]),
    )
    .orderBy("id")
    .execute();
  return { isInUse, managers };
}

/** The settings and columns of a server with this node. */
export function nodeFields(node: SwarmNode | null | undefined) {
  if (node === undefined) return { settings: {}, columns: {} };
  if (node === null) {
    return {
      settings: { is_swarm_manager: false, is_swarm_worker: false },
      columns: { swarm_cluster_id: null, swarm_node_id: null, swarm_manager_ids: [] },
    };
  }
  const nodeId = storable(node.nodeId);
  const known = sql<string | null>`case when swarm_node_id = ${nodeId} then swarm_cluster_id end`;
  return {
    settings: { is_swarm_manager: node.isManager, is_swarm_worker: !node.isManager },
    columns: {
      // A manager without a leader does not know its cluster, but is still in it.
      swarm_cluster_id: node.clusterId === null ? known : storable(node.clusterId),
      swarm_node_id: nodeId,
      swarm_manager_ids: managerIds(node),
    },
  };
}

const managerIds = ({ managers }: SwarmNode) => managers.map(({ nodeId }) => storable(nodeId));

/** Changes the engine of a server, unless it is in use by now or its cluster has another such server. */
export async function changeEngine({ db }: StoreContext, id: number, engine: EngineKind): Promise<void> {
  // Waits for resources that are being created on it, and makes later ones wait.
  const server = await db
    .selectFrom("server")
    .select("swarm_cluster_id")
    .where("id", "=", id)
    .where("engine", "<>", engine)
    .forUpdate()
    .executeTakeFirst();
  if (server === undefined) return;
  const cluster = server.swarm_cluster_id;
  const changing = db.updateTable("server").set({ engine }).where("id", "=", id).where(isUnused);
  if (cluster === null || !ENGINES[engine].isCluster) {
    await changing.execute();
    return;
  }
  // Of two managers that are validated at once, the second sees what the first became.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`cluster ${cluster}`}, 0))`.execute(db);
  const others = db.selectFrom("server").select("id").where("swarm_cluster_id", "=", cluster).where(isClusterEngine);
  if ((await others.executeTakeFirst()) === undefined) await changing.execute();
}
