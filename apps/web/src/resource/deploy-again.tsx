import { useNavigate } from "@tanstack/react-router";
import { client } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { callsOf } from "./operations.ts";
import type { ShownResource } from "./resource.ts";

/** Button to deploy, shown beside settings that take effect with the next deployment. */
export function DeployAgain({ resource: { kind, uuid } }: { readonly resource: ShownResource }) {
  const navigate = useNavigate();
  const work = async () => {
    if (kind !== "application") return callsOf(kind).restart.mutate({ uuid });
    const { deployments = [] } = await client.deploy.mutate({ uuid });
    return { deployment_uuid: deployments[0]?.deployment_uuid };
  };
  return (
    <ActionButton
      work={work}
      after={({ deployment_uuid }) =>
        deployment_uuid !== undefined && navigate({ to: "/deployments/$uuid", params: { uuid: deployment_uuid } })
      }
    >
      {kind === "application" ? "Deploy now" : "Restart now"}
    </ActionButton>
  );
}
