import { PasskeyCreate, PasskeyRename } from "@berth/core/team";
import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { Loaded, Section } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { addPasskey, canUsePasskeys } from "./use-passkey.ts";

type Passkey = Outputs["auth"]["passkeys"]["list"][number];
const FIELDS = [{ fields: ["name"] }];
const NewName = PasskeyCreate.pick({ name: true });
const NewLabel = PasskeyRename.pick({ name: true });

const COLUMNS: readonly Column<Passkey>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "For", isExtra: true, cell: ({ origin }) => <span className="mono">{origin}</span> },
  { header: "Last used", cell: ({ last_used_at }) => (last_used_at === null ? "Never" : <Age at={last_used_at} />) },
  { header: "Action", cell: (passkey) => <Actions passkey={passkey} /> },
];

/** @param done After one was added. */
export default function PasskeysSection({ done }: { readonly done?: () => void }) {
  const query = useQuery(trpc.auth.passkeys.list.queryOptions());
  const [isAdding, setAdding] = useState(false);
  const isPossible = canUsePasskeys();
  return (
    <Section
      title="Passkeys"
      about="Sign in with a finger, a face or the PIN of a device. It replaces password and code."
      actions={
        <Button variant="default" disabled={!isPossible} onClick={() => setAdding(true)}>
          Add a passkey
        </Button>
      }
    >
      {!isPossible && (
        <Text size="sm" mb="sm">
          This browser offers no passkeys at this address. Open Berth by https and a host name, or by http://localhost.
        </Text>
      )}
      <Loaded query={query}>
        {(list) => (
          <DataTable
            label="Passkeys"
            rows={list}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            empty={<Text size="sm">You have none.</Text>}
          />
        )}
      </Loaded>
      <Dialog opened={isAdding} onClose={() => setAdding(false)} title="Add a passkey">
        <SchemaForm
          needs={null}
          schema={NewName}
          groups={FIELDS}
          values={{}}
          isNew
          hasCode={false}
          submitLabel="Continue on this device"
          submit={(sent) => addPasskey(sent.name)}
          after={({ name }) => {
            setAdding(false);
            notify(`Passkey added: ${name}`);
            done?.();
          }}
        />
      </Dialog>
    </Section>
  );
}

const Actions = ({ passkey: { id, name } }: { readonly passkey: Passkey }) => (
  <RowActions>
    <EditButton
      aria-label={`Rename ${name}`}
      title="Rename the passkey"
      needs={null}
      schema={NewLabel}
      groups={FIELDS}
      values={{ name }}
      submitLabel="Rename"
      submit={(sent) => client.auth.passkeys.rename.mutate({ id, ...sent })}
    >
      Rename
    </EditButton>
    <ActionButton
      needs={null}
      size="compact-xs"
      aria-label={`Remove ${name}`}
      question={`Remove ${name}? It then signs nobody in, and sessions that were begun with it end.`}
      work={() => client.auth.passkeys.remove.mutate({ id })}
      after={({ message }) => notify(message)}
    >
      Remove
    </ActionButton>
  </RowActions>
);
