import { useNavigate } from "@tanstack/react-router";
import { plurals } from "../resource/kinds.ts";

interface Created {
  readonly uuid: string;
  readonly deployment_uuid?: string | undefined;
}

/** Opens the queued deployment of a created resource, or the resource itself if none was queued. */
export function useOpenCreated(kind: keyof typeof plurals) {
  const navigate = useNavigate();
  return ({ uuid, deployment_uuid }: Created) =>
    deployment_uuid === undefined
      ? navigate({ to: `/${plurals[kind]}/$uuid/{-$tab}`, params: { uuid } })
      : navigate({ to: "/deployments/$uuid", params: { uuid: deployment_uuid } });
}
