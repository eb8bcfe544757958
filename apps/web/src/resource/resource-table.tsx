import { Anchor, Text } from "@mantine/core";
import { Commit } from "../deployment/commit.tsx";
import { startedBy } from "../deployment/deployment-table.tsx";
import { shortCommit } from "../deployment/short-commit.ts";
import { TextLink } from "../parts/link.tsx";
import { NewLink, type NewPlace } from "../parts/new-link.tsx";
import { Empty } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age, Elapsed } from "../parts/time.tsx";
import type { Resource } from "./attention.ts";
import { engineOf, kindOf } from "./kinds.ts";
import { ResourceLink } from "./resource-link.tsx";
import { type Usage, usageText } from "./usage.ts";

const columnsOf = (usage: Usage): readonly Column<Resource>[] => [
  { header: "Name", cell: (resource) => <ResourceLink {...resource} /> },
  { header: "Status", cell: ({ status, status_problem }) => <Status status={status} problem={status_problem} /> },
  {
    header: "URL",
    isExtra: true,
    cell: (resource) => {
      const [url, ...others] = resource.urls;
      if (url === undefined)
        return (
          <Text size="sm" c="dimmed">
            {kindOf(resource.type) === "database" ? engineOf(resource.type) : "–"}
          </Text>
        );
      return (
        <Text size="sm" span>
          <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
            {url.replace(/^https?:\/\//, "")}
          </Anchor>
          {others.length > 0 && ` and ${others.length} more`}
        </Text>
      );
    },
  },
  { header: "CPU, memory", isExtra: true, cell: (resource) => usageText(usage, [resource]) ?? "–" },
  { header: "Environment", isExtra: true, cell: ({ environment_name }) => environment_name },
  {
    header: "Last deployment",
    isExtra: true,
    cell: ({ last_deployment }) => <LastDeployment last={last_deployment} />,
  },
];

function LastDeployment({ last }: { readonly last: Resource["last_deployment"] }) {
  if (last === null) return "–";
  return (
    <>
      <Text size="sm">
        <TextLink to="/deployments/$uuid" params={{ uuid: last.deployment_uuid }} size="sm">
          <Age at={last.created_at} />
        </TextLink>{" "}
        by <span dir="auto">{startedBy(last)}</span>
        {last.finished_at !== null && (
          <>
            , <Elapsed from={last.started_at ?? last.created_at} to={last.finished_at} />
          </>
        )}
      </Text>
      {shortCommit(last) !== undefined && (
        <Text size="xs" c="dimmed" maw={280} lineClamp={1} dir="auto">
          <Commit {...last} />
        </Text>
      )}
    </>
  );
}

export function ResourceTable({
  label,
  place,
  resources,
  usage,
}: {
  readonly label: string;
  /** Of these resources, and of new ones. */
  readonly place: NewPlace;
  readonly resources: readonly Resource[];
  readonly usage: Usage;
}) {
  return (
    <DataTable
      label={label}
      rows={resources}
      columns={columnsOf(usage)}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, status, environment_name, type }) => `${name} ${status} ${environment_name} ${type}`}
      empty={
        <Empty
          title="Nothing here yet"
          action={
            <NewLink place={place} variant="default">
              New
            </NewLink>
          }
        >
          Applications, databases and services{" "}
          {place.environment === undefined ? "of this project" : `in ${place.environment}`} are listed here.
        </Empty>
      }
    />
  );
}
