import type { ServerRecord } from "../ports/records.ts";

/** Of two servers whose engines have the same identity. */
type ServerOfEngine = Pick<ServerRecord, "id" | "team_id" | "name" | "host_key">;

/**
 * Why a server cannot be used if another one is the same machine, and what to do; `null` if none is.
 *
 * @param sameEngine The servers whose engine has the same identity, this one included or not.
 */
export function sameMachineProblem(server: ServerOfEngine, sameEngine: readonly ServerOfEngine[]): string | null {
  const other = sameEngine.find(({ id, host_key }) => id !== server.id && mayBeEqual(host_key, server.host_key));
  if (other === undefined) return null;
  const which = other.team_id === server.team_id ? `server ${other.name}` : "another server";
  return `Server ${server.name} has the same Docker engine as ${which}, so both would remove what the other one runs. Delete one of the two. If its machine is an exact copy of another one: delete /var/lib/docker/engine-id on it, restart Docker, and validate the server again.`;
}

/** Copies of a machine have its engine's identity, but an SSH host key of their own. An unknown key may be any. */
const mayBeEqual = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one === other;
