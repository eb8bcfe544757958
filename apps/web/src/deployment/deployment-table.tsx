import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Outputs } from "../api/client.ts";
import { TextLink } from "../parts/link.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age, Elapsed } from "../parts/time.tsx";
import { Commit } from "./commit.tsx";
import { shortCommit } from "./short-commit.ts";

type Deployment = Omit<Outputs["deployments"]["get"], "logs">;

/** Who asked for it: a person, a token, or what made Berth do it. */
export const startedBy = ({ actor, is_webhook }: Pick<Deployment, "actor" | "is_webhook">): string =>
  actor?.name ?? (is_webhook ? "a push" : "Berth");

export function causeOf({ rollback, restart_only, is_webhook, is_api, pull_request_id }: Deployment): string {
  const cause = rollback
    ? "rollback"
    : restart_only
      ? "restart"
      : is_webhook
        ? "push"
        : is_api
          ? "on request"
          : "by itself";
  return pull_request_id === 0 ? cause : `${cause}, pull request ${pull_request_id}`;
}

const COLUMNS: readonly Column<Deployment>[] = [
  {
    header: "When",
    cell: ({ deployment_uuid, created_at }) => (
      <TextLink to="/deployments/$uuid" params={{ uuid: deployment_uuid }} size="sm">
        <Age at={created_at} />
      </TextLink>
    ),
  },
  {
    header: "Result",
    cell: ({ status, error }) => (
      <>
        <RunStatus status={status} />
        {error !== null && (
          <Text size="xs" c="dimmed" lineClamp={2}>
            {error}
          </Text>
        )}
      </>
    ),
  },
  {
    header: "What",
    isExtra: true,
    cell: (deployment) => (
      <Text size="sm" lineClamp={1} dir="auto">
        {shortCommit(deployment) === undefined ? "–" : <Commit {...deployment} />}
      </Text>
    ),
  },
  {
    header: "Started by",
    isExtra: true,
    cell: (deployment) => (
      <Text size="sm">
        <span dir="auto">{startedBy(deployment)}</span>
        <Text span size="xs" c="dimmed">
          {" "}
          {causeOf(deployment)}
        </Text>
      </Text>
    ),
  },
  {
    header: "Took",
    isExtra: true,
    cell: ({ started_at, finished_at }) => <Elapsed from={started_at} to={finished_at} />,
  },
];

export const DeploymentTable = ({
  deployments,
  empty,
}: {
  readonly deployments: readonly Deployment[];
  readonly empty: ReactNode;
}) => (
  <DataTable
    label="Deployments"
    rows={deployments}
    columns={COLUMNS}
    keyOf={({ deployment_uuid }) => deployment_uuid}
    textOf={({ commit, commit_message, status, actor }) =>
      `${commit} ${commit_message ?? ""} ${status} ${actor?.name ?? ""}`
    }
    empty={empty}
  />
);
