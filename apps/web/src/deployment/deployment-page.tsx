import type { DeploymentEvent } from "@berth/core/deploy";
import { Alert, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { client, messageOf, type Outputs, queryClient, trpc } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { useLines } from "../parts/lines.ts";
import { TextLink } from "../parts/link.tsx";
import { LogViewer } from "../parts/log-viewer.tsx";
import { Facts, LoadedPage, useDocumentTitle } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { Age, Elapsed } from "../parts/time.tsx";
import { plurals } from "../resource/kinds.ts";
import { causeOf, startedBy } from "./deployment-table.tsx";
import { useKindOf } from "./kind-of.ts";
import { deploy, useOpenDeployment } from "./open-deployment.ts";
import { type ShownStep, Steps } from "./steps.tsx";

/** The log is streamed separately. */
type Deployment = Omit<Outputs["deployments"]["get"], "logs">;

export function DeploymentPage() {
  const { uuid } = useParams({ from: "/shell/deployments/$uuid" });
  const query = useQuery(trpc.deployments.get.queryOptions({ uuid }));
  const steps = useQuery(trpc.deployments.steps.queryOptions({ uuid }));
  return (
    <LoadedPage query={query}>
      {(deployment) => <Run key={uuid} asked={deployment} askedSteps={steps.data ?? []} />}
    </LoadedPage>
  );
}

const isOver = (status: Deployment["status"]): boolean => status !== "queued" && status !== "in_progress";

function Run({ asked, askedSteps }: { readonly asked: Deployment; readonly askedSteps: readonly ShownStep[] }) {
  const uuid = asked.deployment_uuid;
  const lines = useLines(uuid);
  const [followed, setFollowed] = useState<{ readonly deployment: Deployment; readonly steps: readonly ShownStep[] }>();
  const deployment = followed?.deployment ?? asked;
  const steps = followed?.steps ?? askedSteps;
  const stream = useStream<{ readonly data: DeploymentEvent }>(
    uuid,
    (handlers) => client.deployments.follow.subscribe({ uuid }, handlers),
    ({ data }) => {
      if (data.type === "line") {
        const { output, step, timestamp, type } = data.line;
        return lines.push({ text: output, at: timestamp, step, isError: type === "stderr" });
      }
      setFollowed(data);
      if (isOver(data.deployment.status)) void queryClient.invalidateQueries();
    },
  );
  useDocumentTitle(`Deployment of ${deployment.application_name ?? "a resource"}`);
  return (
    <Stack>
      <Header deployment={deployment} />
      {deployment.error !== null && <Failure deployment={deployment} steps={steps} />}
      {deployment.status === "finished" && <Finished uuid={deployment.application_uuid} />}
      <Steps steps={steps} />
      <LogViewer
        lines={lines}
        label={`Deployment ${uuid}`}
        empty={
          typeof stream === "object"
            ? messageOf(stream.error)
            : isOver(deployment.status)
              ? "It printed nothing."
              : "Waiting for the first line …"
        }
      />
      <Facts
        rows={[
          [
            "Commit",
            <span key="commit">
              <span className="mono">{deployment.commit}</span> {deployment.commit_message ?? ""}
            </span>,
          ],
          ["Started by", `${startedBy(deployment)} (${causeOf(deployment)})`],
          ["Server", deployment.server_name ?? "–"],
          [
            "Deployment",
            <span key="uuid" className="mono">
              {uuid}
            </span>,
          ],
        ]}
      />
    </Stack>
  );
}

function Header({ deployment }: { readonly deployment: Deployment }) {
  const open = useOpenDeployment();
  const {
    application_uuid: resource,
    application_name: name,
    status,
    started_at,
    finished_at,
    created_at,
  } = deployment;
  const kind = useKindOf(resource);
  const uuid = deployment.deployment_uuid;
  return (
    <Group justify="space-between" align="flex-start">
      <div>
        <Group gap="sm" align="baseline">
          <Title order={1} className="break">
            Deployment of{" "}
            <TextLink to={`/${plurals[kind]}/$uuid/{-$tab}`} params={{ uuid: resource }} inherit dir="auto">
              {name ?? resource}
            </TextLink>
          </Title>
          <span role="status">
            <RunStatus status={status} />
          </span>
        </Group>
        <Text size="sm" c="dimmed">
          <Age at={created_at} />
          {started_at !== null && (
            <>
              , {finished_at === null ? "for" : "took"} <Elapsed from={started_at} to={finished_at} />
            </>
          )}
        </Text>
      </div>
      <Group gap="xs">
        {isOver(status) ? (
          <ActionButton work={() => deploy(resource)} after={open}>
            Deploy again
          </ActionButton>
        ) : (
          <ActionButton
            work={() => client.deployments.cancel.mutate({ uuid })}
            after={({ message }) => notify(message)}
          >
            Cancel
          </ActionButton>
        )}
      </Group>
    </Group>
  );
}

/** Remedies by the step that failed. */
const REMEDIES: Readonly<Record<ShownStep["name"], { readonly text: string; readonly tab: string }>> = {
  checkout: { text: "Check the repository, the branch and the key it is read with.", tab: "settings" },
  build: {
    text: "The end of the log says what the build lacks. Check the build pack, its commands and the variables of the build.",
    tab: "settings",
  },
  start: {
    text: "The end of the log has what it printed. Check the start command and its variables.",
    tab: "variables",
  },
  health: {
    text: "It started and did not answer as it should. Check its port, its health check and the variables it reads.",
    tab: "settings",
  },
  switch: { text: "Check the URLs and the proxy of the server.", tab: "domains" },
  retire: { text: "The new release runs. Check the server.", tab: "overview" },
};

function Failure({ deployment, steps }: { readonly deployment: Deployment; readonly steps: readonly ShownStep[] }) {
  const kind = useKindOf(deployment.application_uuid);
  const failed = steps.find(({ status }) => status === "failed");
  const remedy = failed && REMEDIES[failed.name];
  return (
    <Alert color="red" variant="outline" role="alert" title={deployment.error}>
      <Text size="sm">
        {remedy?.text} What ran before, if anything, continues.{" "}
        {remedy !== undefined && (
          <TextLink
            to={`/${plurals[kind]}/$uuid/{-$tab}`}
            params={{ uuid: deployment.application_uuid, tab: remedy.tab }}
            size="sm"
          >
            Open {remedy.tab}
          </TextLink>
        )}
      </Text>
    </Alert>
  );
}

function Finished({ uuid }: { readonly uuid: string }) {
  const kind = useKindOf(uuid);
  const { data } = useQuery({ ...trpc.applications.get.queryOptions({ uuid }), enabled: kind === "application" });
  if (data === undefined) return null;
  return (
    <Text size="sm">
      It answers at{" "}
      {data.urls.map((url) => (
        <a key={url} href={url} target="_blank" rel="noreferrer" style={{ color: "var(--mantine-color-anchor)" }}>
          {url}{" "}
        </a>
      ))}
    </Text>
  );
}
