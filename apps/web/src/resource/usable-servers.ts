import { clusterHead } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";

/** Destinations of those servers to choose from, called by their servers; `undefined` until they are known. */
export function useDestinationChoices() {
  const destinations = useQuery(trpc.destinations.list.queryOptions({})).data;
  const servers = useUsableServers();
  if (destinations === undefined || servers === undefined) return undefined;
  return servers.flatMap((server) => {
    const ofServer = destinations.filter(({ server_uuid }) => server_uuid === server.uuid);
    const labelOf = (name: string) => (ofServer.length === 1 ? server.name : `${server.name}, ${name}`);
    return ofServer.map(({ uuid, name }) => ({ value: uuid, label: labelOf(name), serverUuid: server.uuid }));
  });
}

/** Servers that resources can be put on; `undefined` until they are known. */
export const useUsableServers = () =>
  useQuery(trpc.servers.list.queryOptions({})).data?.filter(
    (each, _at, all) => each.is_usable && !each.settings.is_build_server && clusterHead(each, all) === undefined,
  );
