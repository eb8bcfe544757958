import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { containersOf, type ShownResource } from "./resource.ts";

/** Whether its server may run more than one container of it. */
export function mayHaveSeveral({ kind, application }: ShownResource): boolean {
  if (application === undefined) return kind === "service";
  const { replicas, autoscaling_enabled, build_pack } = application;
  return replicas > 1 || autoscaling_enabled || build_pack === "dockercompose";
}

/** Names of its containers to choose from; empty for a resource with a single one. */
export function useContainers(resource: ShownResource): readonly string[] {
  const { kind, uuid } = resource;
  const { data = [] } = useQuery({
    ...trpc.applications.containers.list.queryOptions({ uuid }),
    enabled: kind === "application" && mayHaveSeveral(resource),
  });
  return kind === "service" ? containersOf(resource) : data.flatMap(({ name }) => name ?? []);
}
