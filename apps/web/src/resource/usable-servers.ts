import { clusterHead } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";

/** Servers that resources can be put on; `undefined` until they are known. */
export const useUsableServers = () =>
  useQuery(trpc.servers.list.queryOptions({})).data?.filter(
    (each, _at, all) => each.is_usable && !each.settings.is_build_server && clusterHead(each, all) === undefined,
  );
