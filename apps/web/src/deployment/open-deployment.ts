import { useNavigate } from "@tanstack/react-router";
import { client } from "../api/client.ts";
import { plurals } from "../resource/kinds.ts";

interface Queued {
  /** Missing if nothing was queued. */
  readonly deployment_uuid?: string | null | undefined;
}
interface Created extends Queued {
  readonly uuid: string;
}

/** Deploys a resource. */
export async function deploy(uuid: string): Promise<Queued> {
  const { deployments = [] } = await client.deploy.mutate({ uuid });
  return deployments[0] ?? {};
}

/** Opens the page of a deployment that was queued, if one was. */
export function useOpenDeployment(): (queued: Queued) => unknown {
  const navigate = useNavigate();
  return ({ deployment_uuid: uuid }) => uuid != null && navigate({ to: "/deployments/$uuid", params: { uuid } });
}

/** Opens the queued deployment of a created resource, or the resource itself if none was queued. */
export function useOpenCreated(kind: keyof typeof plurals) {
  const navigate = useNavigate();
  const open = useOpenDeployment();
  return async ({ uuid, deployment_uuid = null }: Created) => {
    const deployment = deployment_uuid ?? (await newestOf(kind, uuid));
    return deployment === undefined
      ? navigate({ to: `/${plurals[kind]}/$uuid/{-$tab}`, params: { uuid } })
      : open({ deployment_uuid: deployment });
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
