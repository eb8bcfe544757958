import { StorageCreate, StorageUpdate } from "@berth/core/storage";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Outputs } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { DeployAgain } from "./deploy-again.tsx";
import { callsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

type Lists = Outputs["applications"]["storages"]["list"];
type Storage = Lists["persistent_storages" | "file_storages"][number];

const FIELDS: readonly FieldGroup[] = [
  { fields: ["type", "mount_path"] },
  { fields: ["name", "host_path"], when: ({ type }) => type === "persistent" },
  { fields: ["is_directory"], when: ({ type }) => type === "file" },
  { fields: ["fs_path"], when: ({ type, is_directory }) => type === "file" && is_directory === true },
  { fields: ["content"], when: ({ type, is_directory }) => type === "file" && is_directory !== true },
];

export default function StorageTab({ resource }: PanelProps) {
  const { kind, uuid, service } = resource;
  const [isAdding, setAdding] = useState(false);
  const query = useQuery(queriesOf(kind).storages.list.queryOptions({ uuid }));
  const calls = callsOf(kind).storages;
  const container = service?.applications[0]?.uuid ?? service?.databases[0]?.uuid;
  const place = container === undefined ? {} : { resource_uuid: container };
  const hasPreviews = resource.application?.source === "git";
  const columns: readonly Column<Storage>[] = [
    { header: "Mounted at", cell: ({ mount_path }) => <span className="mono">{mount_path}</span> },
    { header: "What", cell: whatOf },
    {
      header: "Action",
      cell: (storage) => (
        <RowActions>
          <EditButton
            aria-label={`Edit ${storage.mount_path}`}
            title={`Storage at ${storage.mount_path}`}
            schema={StorageUpdate}
            groups={editedFields(storage, hasPreviews)}
            values={{ ...storage }}
            fixed={{ uuid: storage.uuid }}
            placeholders={isHidden(storage) ? { content: STORED } : {}}
            submitLabel="Save storage"
            note={noteOf(storage)}
            submit={(sent) => calls.update.mutate({ owner_uuid: uuid, ...sent })}
          >
            Edit
          </EditButton>
          <ActionButton
            size="compact-xs"
            aria-label={`Delete ${storage.mount_path}`}
            question={`Delete the storage at ${storage.mount_path}? It is not mounted from the next deployment on. Its content stays until the resource is deleted.`}
            work={() => calls.delete.mutate({ uuid, storage_uuid: storage.uuid })}
          >
            Delete
          </ActionButton>
        </RowActions>
      ),
    },
  ];
  return (
    <Section
      title="Storage"
      about="Folders and files that outlive a deployment. Everything else in a container is gone with it."
      actions={
        <>
          <DeployAgain resource={resource} />
          <AllowedButton onClick={() => setAdding(true)}>New storage</AllowedButton>
        </>
      }
    >
      <Loaded query={query}>
        {({ persistent_storages, file_storages }) => (
          <DataTable
            label="Storages"
            rows={[...persistent_storages, ...file_storages]}
            columns={columns}
            keyOf={(storage) => storage.uuid}
            textOf={(storage) => `${storage.mount_path} ${whatOf(storage)}`}
            empty={<Empty title="No storage">Uploads, SQLite files and caches that should stay need one.</Empty>}
          />
        )}
      </Loaded>
      <Dialog opened={isAdding} onClose={() => setAdding(false)} title="New storage" size="lg">
        <SchemaForm
          schema={StorageCreate}
          groups={FIELDS}
          values={{ type: "persistent" }}
          isNew
          submitLabel="Add storage"
          submit={(sent) => {
            // For a service the input also has the container; the operation validates it.
            const create = calls.create.mutate as (input: object) => Promise<unknown>;
            return create({ uuid, ...place, ...sent });
          }}
          after={() => setAdding(false)}
        />
      </Dialog>
    </Section>
  );
}

function whatOf(storage: Storage): string {
  if ("name" in storage)
    return storage.host_path === null ? `volume ${storage.name}` : `folder ${storage.host_path} of the server`;
  return storage.is_directory ? `folder ${storage.fs_path} of the server` : "file";
}

/** Whether it is a file whose content the session may not see now. */
const isHidden = (storage: Storage): boolean =>
  "fs_path" in storage && !storage.is_directory && storage.content === undefined;

function noteOf(storage: Storage) {
  if (isHidden(storage)) return <HiddenSecret />;
  if ("name" in storage && storage.host_path === null) return "A volume of another name begins empty.";
  return undefined;
}

/** Its type, and the folder of the server that was chosen with it, cannot be changed. */
function editedFields(storage: Storage, hasPreviews: boolean): readonly FieldGroup[] {
  const own = "name" in storage ? ["name", "host_path"] : storage.is_directory ? [] : ["content"];
  return [{ fields: ["mount_path", ...own, ...(hasPreviews ? ["is_preview_suffix_enabled"] : [])] }];
}
