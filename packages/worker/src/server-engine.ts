import type { ServerRecord, SystemStores } from "@berth/core/ports";
import { sameMachineProblem } from "@berth/core/server";

/**
 * Records which Docker engine a server has, unless another server is the same machine. Returns why it cannot be used
 * then, for people.
 */
export async function recordEngine(
  stores: Pick<SystemStores, "transaction">,
  { id }: Pick<ServerRecord, "id">,
  engineId: string,
): Promise<string | null> {
  return await stores.transaction(async ({ servers }) => {
    const sameEngine = await servers.findByEngine(engineId);
    // Read anew: the connection that asked the engine may have recorded the host key.
    const server = await servers.find(id);
    const problem = server === undefined ? null : sameMachineProblem(server, sameEngine);
    if (problem === null) await servers.recordEngine(id, engineId);
    return problem;
  });
}
