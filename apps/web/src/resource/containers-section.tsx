import { useQuery } from "@tanstack/react-query";
import { type Outputs, trpc } from "../api/client.ts";
import { Section } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { mayHaveSeveral } from "./containers.ts";
import { plurals } from "./kinds.ts";
import type { ShownResource } from "./resource.ts";

type Container = Outputs["applications"]["containers"]["list"][number];

/** The containers of a resource that has several, as its server reports them now. */
export function ContainersSection({ resource }: { readonly resource: ShownResource }) {
  const { kind, uuid, name } = resource;
  const { data = [] } = useQuery({
    ...trpc[plurals[kind]].containers.list.queryOptions({ uuid }),
    enabled: mayHaveSeveral(resource),
  });
  if (data.every((container) => container.name === null)) return null;
  return (
    <Section title="Containers">
      <DataTable
        label={`Containers of ${name}`}
        rows={data}
        columns={COLUMNS}
        keyOf={(container) => container.name ?? ""}
        empty={null}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<Container>[] = [
  { header: "Name", cell: ({ name }) => name },
  { header: "Status", cell: ({ state, health }) => <Status status={`${state}:${health ?? "unknown"}`} /> },
  { header: "Restarts", cell: ({ restart_count }) => restart_count },
  { header: "Since", cell: ({ started_at }) => <Age at={started_at} /> },
];
