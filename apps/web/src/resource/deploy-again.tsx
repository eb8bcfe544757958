import { deploy, useOpenDeployment } from "../deployment/open-deployment.ts";
import { ActionButton } from "../parts/action.tsx";
import { callsOf } from "./operations.ts";
import type { ShownResource } from "./resource.ts";

/** Button to deploy, shown beside settings that take effect with the next deployment. */
export function DeployAgain({ resource: { kind, uuid } }: { readonly resource: ShownResource }) {
  const work = () => (kind === "application" ? deploy(uuid) : callsOf(kind).restart.mutate({ uuid }));
  return (
    <ActionButton work={work} after={useOpenDeployment()}>
      {kind === "application" ? "Deploy now" : "Restart now"}
    </ActionButton>
  );
}
