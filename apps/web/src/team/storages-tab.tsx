import { S3StorageCreate, S3StorageUpdate } from "@berth/core/backup";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { State } from "../parts/state.tsx";
import type { Column } from "../parts/table.tsx";

type Storage = Outputs["s3Storages"]["list"][number];
const FIELDS = [{ fields: ["name", "endpoint", "bucket", "region", "key", "secret", "description"] }];

const COLUMNS: readonly Column<Storage>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  {
    header: "State",
    cell: ({ is_usable }) => (
      <State
        state={is_usable ? { tone: "good", word: "Usable" } : { tone: "warn", word: "Not usable", reason: "Check it." }}
      />
    ),
  },
  { header: "Bucket", isExtra: true, cell: ({ endpoint, bucket }) => `${bucket} at ${endpoint}` },
  {
    header: "Action",
    cell: ({ uuid, name, endpoint, bucket, region, description }) => (
      <RowActions>
        <EditButton
          aria-label={`Edit ${name}`}
          title={`S3 storage: ${name}`}
          schema={S3StorageUpdate}
          groups={FIELDS}
          values={{ name, endpoint, bucket, region, description }}
          placeholders={{ key: STORED, secret: STORED }}
          submitLabel="Save"
          submit={(sent) => client.s3Storages.update.mutate({ uuid, ...sent })}
          after={({ message }) => message !== undefined && notify(message)}
        >
          Edit
        </EditButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Check ${name}`}
          work={() => client.s3Storages.validate.mutate({ uuid })}
          after={({ message }) => notify(message)}
        >
          Check
        </ActionButton>
        <ActionButton
          size="compact-xs"
          aria-label={`Delete ${name}`}
          question={`Delete the storage ${name}? The backups in it stay.`}
          work={() => client.s3Storages.delete.mutate({ uuid })}
        >
          Delete
        </ActionButton>
      </RowActions>
    ),
  },
];

export default function StoragesTab() {
  return (
    <Collection
      title="S3 storages"
      about="Buckets for copies of backups, separate from the databases' own servers."
      query={useQuery(trpc.s3Storages.list.queryOptions({}))}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, bucket }) => `${name} ${bucket}`}
      empty={<Empty title="No S3 storages">A backup on the database's own server is lost with that server.</Empty>}
      create={{
        label: "Add an S3 storage",
        schema: S3StorageCreate,
        groups: FIELDS,
        submit: (sent) => client.s3Storages.create.mutate(sent),
      }}
    />
  );
}
