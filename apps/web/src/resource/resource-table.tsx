import { Anchor, Text } from "@mantine/core";
import { ButtonLink } from "../parts/link.tsx";
import { Empty } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import type { Resource } from "./attention.ts";
import { engineOf, kindOf } from "./kinds.ts";
import { ResourceLink } from "./resource-link.tsx";

const urlsOf = (resource: Resource): readonly string[] =>
  resource.type === "application"
    ? resource.urls
    : resource.type === "service"
      ? resource.applications.flatMap(({ urls }) => urls)
      : [];

const COLUMNS: readonly Column<Resource>[] = [
  { header: "Name", cell: (resource) => <ResourceLink {...resource} /> },
  { header: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    header: "URL",
    isExtra: true,
    cell: (resource) => {
      const [url, ...others] = urlsOf(resource);
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
  { header: "Environment", isExtra: true, cell: ({ environment_name }) => environment_name },
  { header: "Changed", isExtra: true, cell: ({ updated_at }) => <Age at={updated_at} /> },
];

export function ResourceTable({
  label,
  resources,
}: {
  readonly label: string;
  readonly resources: readonly Resource[];
}) {
  return (
    <DataTable
      label={label}
      rows={resources}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, status, environment_name, type }) => `${name} ${status} ${environment_name} ${type}`}
      empty={
        <Empty
          title="Nothing here yet"
          action={
            <ButtonLink to="/new/{-$source}" variant="default">
              New
            </ButtonLink>
          }
        >
          Applications, databases and services of this project are listed here.
        </Empty>
      }
    />
  );
}
