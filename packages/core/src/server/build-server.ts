import type { ServerRecord } from "../ports/records.ts";
import { ENGINES } from "./server-settings.ts";

type Candidate = Pick<
  ServerRecord,
  "id" | "name" | "team_id" | "engine" | "removing_at" | "settings" | "server_metadata"
>;

/** The build server of an application that asks for one, or why none can be used. */
export type BuildServerChoice<Server> =
  | { readonly server: Server; readonly reason?: undefined }
  | { readonly server: undefined; readonly reason: string };

export interface BuildServerQuestion<Server> {
  /** Server that the application runs on. */
  readonly target: Candidate;
  /** Servers that the building worker can reach. */
  readonly servers: readonly Server[];
  /** Number of running builds by server id; a missing one counts as 0. */
  readonly activeBuilds: ReadonlyMap<number, number>;
  /** Id of the server chosen for this deployment before: it has the finished part of the build, and its cache. */
  readonly before: number | null;
}

/**
 * Chooses a usable build server of the application's own team whose images run on the target: the previous one if
 * still possible, else the one with a free place and the fewest running builds, and of equal ones the oldest.
 */
export function chooseBuildServer<Server extends Candidate>({
  target,
  servers,
  activeBuilds,
  before,
}: BuildServerQuestion<Server>): BuildServerChoice<Server> {
  const builders = servers.filter(
    ({ team_id, engine, settings }) =>
      team_id === target.team_id && ENGINES[engine].hasContainers && settings.is_build_server,
  );
  const usable = builders.filter(isUsable);
  const fitting = usable.filter((server) => isSameArchitecture(server, target));
  const load = ({ id }: Server) => activeBuilds.get(id) ?? 0;
  const isFull = (server: Server) => Number(load(server) >= server.settings.concurrent_builds);
  const [fewest] = [...fitting].sort(
    (one, other) => isFull(one) - isFull(other) || load(one) - load(other) || one.id - other.id,
  );
  const chosen = fitting.find(({ id }) => id === before) ?? fewest;
  if (chosen !== undefined) return { server: chosen };
  if (builders.length === 0) return { server: undefined, reason: "the team has no build server within reach" };
  if (usable.length === 0) return { server: undefined, reason: "no build server of the team is usable: validate one" };
  return { server: undefined, reason: `no usable build server has the architecture of server ${target.name}` };
}

const isUsable = ({ removing_at, settings }: Candidate): boolean =>
  removing_at === null && settings.is_reachable && settings.is_usable && !settings.force_disabled;

/** An uninspected server may have any architecture, so only a known difference excludes it. */
function isSameArchitecture(one: Candidate, other: Candidate): boolean {
  const [own, wanted] = [one.server_metadata?.architecture, other.server_metadata?.architecture];
  return own === undefined || wanted === undefined || own === wanted;
}
