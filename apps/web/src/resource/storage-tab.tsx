import { StorageCreate } from "@berth/core/storage";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ActionButton } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { DeployAgain } from "./deploy-again.tsx";
import { callsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

interface Mount {
  readonly uuid: string;
  readonly path: string;
  readonly what: string;
}

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
  const columns: readonly Column<Mount>[] = [
    { header: "Mounted at", cell: ({ path }) => <span className="mono">{path}</span> },
    { header: "What", cell: ({ what }) => what },
    {
      header: "Action",
      cell: (mount) => (
        <ActionButton
          size="compact-xs"
          question={`Delete the storage at ${mount.path}? It is not mounted from the next deployment on. Its content stays until the resource is deleted.`}
          work={() => calls.delete.mutate({ uuid, storage_uuid: mount.uuid })}
        >
          Delete
        </ActionButton>
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
            rows={[
              ...persistent_storages.map(({ uuid, mount_path, name, host_path }) => ({
                uuid,
                path: mount_path,
                what: host_path === null ? `volume ${name}` : `folder ${host_path} of the server`,
              })),
              ...file_storages.map(({ uuid, mount_path, is_directory, fs_path }) => ({
                uuid,
                path: mount_path,
                what: is_directory ? `folder ${fs_path} of the server` : "file",
              })),
            ]}
            columns={columns}
            keyOf={(mount) => mount.uuid}
            textOf={({ path, what }) => `${path} ${what}`}
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
