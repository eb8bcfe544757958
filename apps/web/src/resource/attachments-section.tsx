import { Attachment, DatabaseAttach, DEFAULT_VARIABLE } from "@berth/core/database";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import { client, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { kindOf } from "./kinds.ts";
import { queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";
import { ResourceLink } from "./resource-link.tsx";

/** The form of a resource names the database instead. */
const OfResource = DatabaseAttach.omit({ resource_uuid: true }).extend({
  database_uuid: Attachment.shape.database_uuid.describe("A database of the same environment."),
});
const ROUTES: Readonly<Record<NonNullable<Attachment["route"]>, string>> = {
  network: "in its network",
  loopback: "by a port of the same machine",
  public_port: "by its public port",
};

/** The resources that use a database, or the databases that another resource uses. */
export function AttachmentsSection({ resource }: PanelProps) {
  const { kind, uuid } = resource;
  const isDatabase = kind === "database";
  const [isAttaching, setAttaching] = useState(false);
  const query = useQuery(queriesOf(kind).attachments.list.queryOptions({ uuid }));
  const columns: readonly Column<Attachment>[] = [
    {
      header: isDatabase ? "Resource" : "Database",
      cell: ({ resource_uuid, resource_name, resource_type, database_uuid, database_name }) =>
        isDatabase ? (
          <ResourceLink uuid={resource_uuid} name={resource_name} type={resource_type} />
        ) : (
          <ResourceLink uuid={database_uuid} name={database_name} type="database" />
        ),
    },
    {
      header: "Variable",
      cell: ({ key, is_preview }) => <span className="mono">{is_preview ? `${key} (previews)` : key}</span>,
    },
    {
      header: "Reached",
      cell: ({ route, problem }) =>
        problem === null ? (
          route !== null && ROUTES[route]
        ) : (
          <Text size="sm" c="red" className="break">
            {problem}
          </Text>
        ),
    },
    {
      header: "Action",
      cell: ({ database_uuid, resource_uuid, resource_name, key }) => (
        <ActionButton
          size="compact-xs"
          aria-label={`Detach ${resource_name} (${key})`}
          question={`Delete the variable ${key} of ${resource_name}?`}
          work={() => client.databases.attachments.detach.mutate({ uuid: database_uuid, resource_uuid, as: key })}
          after={({ message }) => notify(message)}
        >
          Detach
        </ActionButton>
      ),
    },
  ];
  return (
    <Section
      title={isDatabase ? "Used by" : "Databases"}
      about="A variable refers to the database. Each deployment inserts its URL, with the address and the password of the moment."
      actions={
        <AllowedButton onClick={() => setAttaching(true)}>
          {isDatabase ? "Attach to a resource" : "Attach a database"}
        </AllowedButton>
      }
    >
      <Loaded query={query}>
        {(attachments) => (
          <DataTable
            label={isDatabase ? "Resources that use it" : "Databases that it uses"}
            rows={attachments.filter((one) => !one.is_preview || !attachments.some((other) => isTwin(one, other)))}
            columns={columns}
            keyOf={({ database_uuid, resource_uuid, key, is_preview }) =>
              `${database_uuid} ${resource_uuid} ${key} ${is_preview}`
            }
            empty={<Empty title={isDatabase ? "No variable refers to it" : "No variable refers to a database"} />}
          />
        )}
      </Loaded>
      <Dialog
        opened={isAttaching}
        onClose={() => setAttaching(false)}
        title={isDatabase ? `Attach ${resource.name}` : "Attach a database"}
        size="lg"
      >
        <AttachForm resource={resource} after={() => setAttaching(false)} />
      </Dialog>
    </Section>
  );
}

/** A variable and its copy for previews are shown once. */
const isTwin = (one: Attachment, other: Attachment): boolean =>
  !other.is_preview &&
  other.key === one.key &&
  other.database_uuid === one.database_uuid &&
  other.resource_uuid === one.resource_uuid;

function AttachForm({ resource, after }: PanelProps & { readonly after: () => void }) {
  const { kind, uuid, environment_uuid } = resource;
  const { data = [] } = useQuery(trpc.resources.summaries.queryOptions({}));
  const isDatabase = kind === "database";
  const field = isDatabase ? "resource_uuid" : "database_uuid";
  const others = data.filter(
    (other) =>
      other.environment_uuid === environment_uuid &&
      other.uuid !== uuid &&
      (isDatabase || kindOf(other.type) === "database"),
  );
  const groups: readonly FieldGroup[] = [{ fields: [field, "as"] }];
  return (
    <SchemaForm
      schema={isDatabase ? DatabaseAttach : OfResource}
      groups={groups}
      values={{ as: DEFAULT_VARIABLE }}
      isNew
      choices={{ [field]: others.map((other) => ({ value: other.uuid, label: other.name })) }}
      submitLabel="Attach"
      note="Takes effect with the next deployment of what uses it."
      submit={(sent) => {
        const { attach } = client.databases.attachments;
        if (!isDatabase && "database_uuid" in sent) {
          return attach.mutate({ uuid: sent.database_uuid, resource_uuid: uuid, as: sent.as });
        }
        // The schema of a database's page, or nothing is chosen yet.
        return attach.mutate({ uuid, ...(sent as z.output<typeof DatabaseAttach>) });
      }}
      after={({ key, resource_name }) => {
        after();
        notify(`${resource_name} gets the URL in ${key}.`);
      }}
    />
  );
}
