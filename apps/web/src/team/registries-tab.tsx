import { RegistryCreate } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";

type Registry = Outputs["registries"]["list"][number];
const FIELDS = [{ fields: ["name", "address", "username", "password", "description"] }];

const COLUMNS: readonly Column<Registry>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "Address", cell: ({ address }) => <span className="mono">{address}</span> },
  { header: "Login", isExtra: true, cell: ({ username }) => username },
  {
    header: "Action",
    cell: ({ uuid, name }) => (
      <ActionButton
        size="compact-xs"
        question={`Delete the registry ${name}?`}
        work={() => client.registries.delete.mutate({ uuid })}
      >
        Delete
      </ActionButton>
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
