import type { ResourceKind } from "@berth/core/resource";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { kindOf } from "../resource/kinds.ts";

/** Looks up the resource's kind, which a deployment does not contain. */
export function useKindOf(uuid: string): ResourceKind {
  const { data = [] } = useQuery(trpc.resources.summaries.queryOptions({}));
  return kindOf(data.find((resource) => resource.uuid === uuid)?.type ?? "application");
}
