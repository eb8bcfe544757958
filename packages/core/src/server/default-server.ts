import { clusterHead } from "./cluster.ts";
import { ENGINES, type EngineKind, type ServerSettings } from "./server-settings.ts";

interface ServerFacts {
  readonly engine: EngineKind;
  /** A machine that Berth itself runs on. */
  readonly is_coolify_host: boolean;
  readonly swarm_cluster: number | null;
  readonly settings: Pick<ServerSettings, "is_build_server" | "is_reachable" | "is_usable">;
}

/**
 * The servers that a new resource may run on when its creation names none. One of them is the default; of several, the
 * caller has to name one, since only they know which machine they mean. While no machine was added, the Docker engine
 * beside Berth is the default as long as it answers, and Berth's own processes where there is none.
 */
export function defaultServers<T extends ServerFacts>(
  servers: readonly T[],
  { needsContainers }: { readonly needsContainers: boolean },
): readonly T[] {
  const possible = servers.filter(
    (server) =>
      !server.settings.is_build_server &&
      (!needsContainers || ENGINES[server.engine].hasContainers) &&
      clusterHead(server, servers) === undefined,
  );
  if (!possible.every(({ is_coolify_host }) => is_coolify_host)) return possible;
  const docker = possible.filter(({ engine, settings }) => ENGINES[engine].hasContainers && answers(settings));
  if (docker.length > 0 || needsContainers) return docker.length > 0 ? docker : possible;
  return possible.filter(({ engine }) => !ENGINES[engine].hasContainers);
}

const answers = ({ is_reachable, is_usable }: ServerFacts["settings"]): boolean => is_reachable && is_usable;
