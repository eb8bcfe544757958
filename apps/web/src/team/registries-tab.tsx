import { RegistryCreate, RegistryUpdate } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type Registry = Outputs["registries"]["list"][number];
const FIELDS = [{ fields: ["name", "address", "username", "password", "description"] }];

const COLUMNS: readonly Column<Registry>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "Address", cell: ({ address }) => <span className="mono">{address}</span> },
  { header: "Login", isExtra: true, cell: ({ username }) => username },
  {
    header: "Action",
    cell: ({ uuid, name, address, username, description }) => (
      <RowActions>
        <EditButton
          aria-label={`Edit ${name}`}
          title={`Registry: ${name}`}
          schema={RegistryUpdate}
          groups={FIELDS}
          values={{ name, address, username, description }}
          placeholders={{ password: STORED }}
          submitLabel="Save"
          submit={(sent) => client.registries.update.mutate({ uuid, ...sent })}
          after={({ message }) => message !== undefined && notify(message)}
        >
          Edit
        </EditButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Delete ${name}`}
          question={`Delete the registry ${name}?`}
          work={() => client.registries.delete.mutate({ uuid })}
        >
          Delete
        </ActionButton>
      </RowActions>
    ),
  },
];

export default function RegistriesTab() {
  return (
    <Collection
      title="Registries"
      about="Logins with which images are pulled and pushed."
      query={useQuery(trpc.registries.list.queryOptions({}))}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, address }) => `${name} ${address}`}
      empty={
        <Empty title="No registries">Public images need none. A private image needs the login of its registry.</Empty>
      }
      create={{
        label: "Add a registry",
        schema: RegistryCreate,
        groups: FIELDS,
        submit: (sent) => client.registries.create.mutate(sent),
      }}
    />
  );
}
