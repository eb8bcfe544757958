import type { ResourceKind } from "@berth/core/resource";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { kindOf } from "../resource/kinds.ts";

/** A deployment does not say of which kind its resource is. */
export function useKindOf(uuid: string): ResourceKind {
  const { data = [] } = useQuery(trpc.resources.list.queryOptions({}));
  return kindOf(data.find((resource) => resource.uuid === uuid)?.type ?? "application");
}
