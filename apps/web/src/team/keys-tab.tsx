import { PrivateKeyCreate, PrivateKeyUpdate } from "@berth/core/source";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type Key = Outputs["privateKeys"]["list"][number];
const FIELDS = [{ fields: ["name", "description", "private_key"] }];
const KeyChange = PrivateKeyUpdate.partial({ private_key: true });

const COLUMNS: readonly Column<Key>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  {
    header: "Fingerprint",
    isExtra: true,
    cell: ({ fingerprint }) => (
      <Text span className="mono break">
        {fingerprint ?? "–"}
      </Text>
    ),
  },
  { header: "Public key", cell: ({ public_key }) => <CopyButton text={public_key} label="Copy public key" /> },
  {
    header: "Action",
    cell: (key) => (
      <RowActions>
        <EditKey stored={key} />
        <ActionButton
          size="compact-xs"
          aria-label={`Delete ${key.name}`}
          question={`Delete the key ${key.name}?`}
          work={() => client.privateKeys.delete.mutate({ uuid: key.uuid })}
        >
          Delete
        </ActionButton>
      </RowActions>
    ),
  },
];

/** Every change has to send the key itself, so the stored one is sent again where no other is entered. */
function EditKey({ stored: { uuid, name, description, private_key: text } }: { readonly stored: Key }) {
  if (text === undefined) return <HiddenSecret aria-label={`Confirm to edit ${name}`}>Confirm to edit</HiddenSecret>;
  return (
    <EditButton
      aria-label={`Edit ${name}`}
      title={`Key: ${name}`}
      schema={KeyChange}
      groups={FIELDS}
      values={{ name, description }}
      placeholders={{ private_key: STORED }}
      submitLabel="Save"
      submit={({ private_key = text, ...sent }) => client.privateKeys.update.mutate({ uuid, private_key, ...sent })}
    >
      Edit
    </EditButton>
  );
}

export default function KeysTab() {
  return (
    <Collection
      title="Keys"
      about="SSH keys with which Berth reaches servers and reads private repositories."
      query={useQuery(trpc.privateKeys.list.queryOptions({}))}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name }) => name}
      empty={
        <Empty title="No keys" command="ssh-keygen -t ed25519 -f berth">
          Make a pair, add the private one here, and put the public one into authorized_keys of the server, or into the
          repository as a deploy key.
        </Empty>
      }
      create={{
        label: "Add a key",
        schema: PrivateKeyCreate,
        groups: FIELDS,
        submit: (sent) => client.privateKeys.create.mutate(sent),
      }}
    />
  );
}
