import { DestinationCreate, DestinationUpdate } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type Destination = Outputs["destinations"]["listOfServer"][number];
const NAME = [{ fields: ["name"] }];
const FIELDS = [{ fields: ["network", "name"] }];

const COLUMNS: readonly Column<Destination>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "Network", cell: ({ network }) => <span className="mono break">{network}</span> },
  {
    header: "Action",
    cell: ({ uuid, name }) => (
      <RowActions>
        <EditButton
          aria-label={`Rename ${name}`}
          title={`Destination: ${name}`}
          schema={DestinationUpdate}
          groups={NAME}
          values={{ name }}
          submitLabel="Rename"
          submit={(sent) => client.destinations.update.mutate({ uuid, ...sent })}
        >
          Rename
        </EditButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Delete ${name}`}
          question={`Delete the destination ${name}?`}
          work={() => client.destinations.delete.mutate({ uuid })}
        >
          Delete
        </ActionButton>
      </RowActions>
    ),
  },
];

/** @param uuid Uuid of the server. */
export default function DestinationsSection({ uuid }: { readonly uuid: string }) {
  return (
    <Collection
      title="Destinations"
      about="Docker networks that resources are deployed to. Where a server has several, a new resource names one of them; without Docker, a destination is only a name."
      query={useQuery(trpc.destinations.listOfServer.queryOptions({ uuid }))}
      columns={COLUMNS}
      keyOf={(destination) => destination.uuid}
      textOf={({ name, network }) => `${name} ${network}`}
      empty={<Empty title="No destinations">Resources cannot be deployed to this server without one.</Empty>}
      create={{
        label: "Add a destination",
        schema: DestinationCreate,
        groups: FIELDS,
        submit: (sent) => client.destinations.create.mutate({ uuid, ...sent }),
      }}
    />
  );
}
