import { Anchor, Group, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { memo } from "react";
import { trpc } from "../api/client.ts";
import { deploy, useOpenDeployment } from "../deployment/open-deployment.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { TextLink } from "../parts/link.tsx";
import { useDocumentTitle } from "../parts/page.tsx";
import { isUp, State, stateOf } from "../parts/state.tsx";
import { callsOf, deploymentsOf } from "./operations.ts";
import type { ShownResource } from "./resource.ts";
import { KindIcon } from "./resource-link.tsx";

/** Drawn again only for another state of the resource, not for each tab. */
export const ResourceHeader = memo(function ResourceHeader({ resource }: { readonly resource: ShownResource }) {
  const { kind, uuid, name, status, status_problem, urls } = resource;
  useDocumentTitle(name);
  const project = useQuery(trpc.projects.get.queryOptions({ uuid: resource.project_uuid }));
  const last = useQuery(deploymentsOf(kind, uuid, 1)).data?.deployments[0];
  const isRemoving = status.startsWith("removing");
  const state = stateOf(status, status_problem);
  const isFailed = last?.status === "failed";
  return (
    <Group justify="space-between" align="flex-start" mb="sm" gap="sm">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" c="dimmed">
          <TextLink to="/projects/$uuid" params={{ uuid: resource.project_uuid }} size="sm">
            {project.data?.name ?? "Project"}
          </TextLink>{" "}
          / {resource.environment_name}
        </Text>
        <Group gap="xs" align="baseline">
          <KindIcon kind={kind} />
          <Title order={1} className="break" dir="auto">
            {name}
          </Title>
          <State state={state} withReason />
        </Group>
        {isFailed && (
          <Text size="sm">
            The last deployment failed{state.word === "Healthy" && ", the release before it still runs"}:{" "}
            {last.error ?? "its log says why."}{" "}
            <TextLink to="/deployments/$uuid" params={{ uuid: last.deployment_uuid }} size="sm">
              Open log
            </TextLink>
          </Text>
        )}
        {urls.map((url) => (
          <Anchor key={url} href={url} target="_blank" rel="noreferrer" size="sm" mr="sm" className="break">
            {url}&nbsp;↗
          </Anchor>
        ))}
      </div>
      {!isRemoving && (
        <Actions
          resource={resource}
          isUp={isUp(status)}
          // What never ran is deployed. After a rollback, a start runs something else than a deployment.
          isStartable={!isUp(status) && (kind !== "application" || last !== undefined)}
        />
      )}
    </Group>
  );
});

interface ActionsProps {
  readonly resource: ShownResource;
  readonly isUp: boolean;
  readonly isStartable: boolean;
}

function Actions({ resource: { kind, uuid }, isUp, isStartable }: ActionsProps) {
  const open = useOpenDeployment();
  const calls = callsOf(kind);
  return (
    <Group gap="xs">
      {kind === "application" && (
        <ActionButton variant="filled" work={() => deploy(uuid)} after={open}>
          Deploy
        </ActionButton>
      )}
      {isStartable && (
        <ActionButton
          variant={kind === "application" ? "default" : "filled"}
          work={() => calls.start.mutate({ uuid })}
          after={open}
        >
          Start
        </ActionButton>
      )}
      {isUp && (
        <>
          <ActionButton work={() => calls.restart.mutate({ uuid })} after={open}>
            Restart
          </ActionButton>
          <ActionButton
            question="Stop it? It answers no requests until it is started again."
            work={() => calls.stop.mutate({ uuid })}
            after={({ message }) => notify(message)}
          >
            Stop
          </ActionButton>
        </>
      )}
    </Group>
  );
}
