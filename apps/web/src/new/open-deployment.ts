import { useNavigate } from "@tanstack/react-router";
import { client } from "../api/client.ts";
import { plurals } from "../resource/kinds.ts";

interface Created {
  readonly uuid: string;
  readonly deployment_uuid?: string | undefined;
}

/** Opens the queued deployment of a created resource, or the resource itself if none was queued. */
export function useOpenCreated(kind: keyof typeof plurals) {
  const navigate = useNavigate();
  return async ({ uuid, deployment_uuid }: Created) => {
    const deployment = deployment_uuid ?? (await newestOf(kind, uuid));
    return deployment === undefined
      ? navigate({ to: `/${plurals[kind]}/$uuid/{-$tab}`, params: { uuid } })
      : navigate({ to: "/deployments/$uuid", params: { uuid: deployment } });
  };
}

/** The creation of a database or service does not return it. */
async function newestOf(kind: keyof typeof plurals, uuid: string): Promise<string | undefined> {
  if (kind === "application") return undefined;
  const list = kind === "database" ? client.deployments.listByDatabase : client.deployments.listByService;
  // It exists already, so its page is opened where this fails.
  const found = await list.query({ uuid, take: 1 }).catch(() => undefined);
  return found?.deployments[0]?.deployment_uuid;
}
