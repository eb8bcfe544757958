import { CLOUD_PROVIDERS, CloudTokenCreate, CloudTokenUpdate } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

type CloudToken = Outputs["cloudTokens"]["list"][number];
const FIELDS = [{ fields: ["provider", "name", "token"] }];

const COLUMNS: readonly Column<CloudToken>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "Provider", cell: ({ provider }) => CLOUD_PROVIDERS[provider].title },
  { header: "Servers", isExtra: true, cell: ({ servers_count }) => servers_count },
  { header: "Added", isExtra: true, cell: ({ created_at }) => created_at !== null && <Age at={created_at} /> },
  {
    header: "Action",
    cell: ({ uuid, name }) => (
      <RowActions>
        <EditButton
          aria-label={`Edit ${name}`}
          title={`Cloud token: ${name}`}
          schema={CloudTokenUpdate}
          groups={FIELDS}
          values={{ name }}
          submitLabel="Save"
          submit={(sent) => client.cloudTokens.update.mutate({ uuid, ...sent })}
        >
          Edit
        </EditButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Check ${name}`}
          work={() => client.cloudTokens.validate.mutate({ uuid })}
          after={({ message }) => notify(message)}
        >
          Check
        </ActionButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Delete ${name}`}
          question={`Delete the token ${name}? It stays valid at the provider.`}
          work={() => client.cloudTokens.delete.mutate({ uuid })}
        >
          Delete
        </ActionButton>
      </RowActions>
    ),
  },
];

export default function CloudsTab() {
  return (
    <Collection
      title="Cloud tokens"
      about="Logins of providers at which Berth rents servers. A token is checked, encrypted and never shown again."
      query={useQuery(trpc.cloudTokens.list.queryOptions({}))}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, provider }) => `${name} ${provider}`}
      empty={
        <Empty title="No cloud tokens">
          With a token of Hetzner Cloud that may read and write, Servers can rent a machine for you.
        </Empty>
      }
      create={{
        label: "Add a cloud token",
        schema: CloudTokenCreate,
        groups: FIELDS,
        submit: (sent) => client.cloudTokens.create.mutate(sent),
      }}
    />
  );
}
