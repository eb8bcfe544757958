import { BackupCreate, BackupUpdate } from "@berth/core/backup";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age, Elapsed } from "../parts/time.tsx";
import type { PanelProps } from "../resource/panel.ts";
import { SavedBackups } from "./saved-backups.tsx";

type Schedule = Outputs["databases"]["backups"]["list"][number];
type Restore = Outputs["databases"]["restores"]["list"][number];

const FIELDS: readonly FieldGroup[] = [
  { fields: ["frequency", "enabled", "databases_to_backup", "dump_all"] },
  { title: "Copies elsewhere", fields: ["s3_storage_uuid", "save_s3", "disable_local_backup"] },
  {
    title: "How long they are kept",
    fields: [
      ...["database_backup_retention_amount_locally", "database_backup_retention_days_locally"],
      ...["database_backup_retention_amount_s3", "database_backup_retention_days_s3", "timeout"],
    ],
  },
];

export default function BackupsTab({ resource }: PanelProps) {
  const { uuid } = resource;
  const [edited, setEdited] = useState<Schedule | "new">();
  const schedules = useQuery(trpc.databases.backups.list.queryOptions({ uuid }));
  const storages = useQuery(trpc.s3Storages.list.queryOptions({})).data ?? [];
  const choices = { s3_storage_uuid: storages.map((storage) => ({ value: storage.uuid, label: storage.name })) };
  const close = () => setEdited(undefined);
  return (
    <Stack>
      <Section
        title="Schedules"
        about="Each run saves the database into a file. A drill restores one into a throw-away database and counts its rows."
        actions={<AllowedButton onClick={() => setEdited("new")}>New schedule</AllowedButton>}
      >
        <Loaded query={schedules}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No backups" command="berth backups create --frequency daily">
                Without one, the content of this database is lost with its server.
              </Empty>
            ) : (
              <Stack>
                {list.map((schedule) => (
                  <div key={schedule.uuid}>
                    <Group gap="sm" mb="xs">
                      <Text fw={600} size="sm">
                        {schedule.frequency}
                        {schedule.enabled ? "" : " (switched off)"}
                      </Text>
                      <ActionButton
                        size="compact-xs"
                        work={() =>
                          client.databases.backups.update.mutate({
                            uuid,
                            scheduled_backup_uuid: schedule.uuid,
                            backup_now: true,
                          })
                        }
                        after={() => notify("A backup begins.")}
                      >
                        Back up now
                      </ActionButton>
                      <Button size="compact-xs" variant="default" onClick={() => setEdited(schedule)}>
                        Edit
                      </Button>
                      <ActionButton
                        size="compact-xs"
                        question="Delete the schedule with the backups it made?"
                        work={() =>
                          client.databases.backups.delete.mutate({ uuid, scheduled_backup_uuid: schedule.uuid })
                        }
                        after={({ message }) => notify(message)}
                      >
                        Delete
                      </ActionButton>
                    </Group>
                    <SavedBackups database={resource} schedule={schedule.uuid} />
                  </div>
                ))}
              </Stack>
            )
          }
        </Loaded>
      </Section>
      <Restores uuid={uuid} />
      <Dialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? "New schedule" : "Schedule"}
        size="lg"
      >
        {edited === "new" && (
          <SchemaForm
            schema={BackupCreate}
            groups={NEW_FIELDS}
            values={{ frequency: "daily", enabled: true }}
            isNew
            choices={choices}
            submitLabel="Create schedule"
            submit={(sent) => client.databases.backups.create.mutate({ uuid, ...sent })}
            after={close}
          />
        )}
        {typeof edited === "object" && (
          <SchemaForm
            schema={BackupUpdate}
            groups={FIELDS}
            values={{ ...edited }}
            choices={choices}
            submitLabel="Save schedule"
            submit={(sent) =>
              client.databases.backups.update.mutate({
                uuid,
                scheduled_backup_uuid: edited.uuid,
                ...sent,
              })
            }
            after={close}
          />
        )}
      </Dialog>
    </Stack>
  );
}

const NEW_FIELDS: readonly FieldGroup[] = [
  { fields: ["frequency", "backup_now"] },
  { title: "Copies elsewhere", fields: ["s3_storage_uuid"] },
  {
    title: "How long they are kept",
    fields: ["database_backup_retention_amount_locally", "database_backup_retention_days_locally"],
  },
];

const COLUMNS: readonly Column<Restore>[] = [
  { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
  { header: "What", cell: ({ kind }) => (kind === "drill" ? "Drill" : "Restore") },
  {
    header: "Result",
    cell: ({ status, step, message }) => (
      <>
        <RunStatus status={status} /> {step ?? ""}
        {message !== null && (
          <Text size="xs" c="dimmed" className="break">
            {message}
          </Text>
        )}
      </>
    ),
  },
  {
    header: "Took",
    isExtra: true,
    cell: ({ started_at, finished_at }) => <Elapsed from={started_at} to={finished_at} />,
  },
];

const QUESTIONS: Readonly<Record<Restore["kind"], { readonly question?: string }>> = {
  restore: { question: "Cancel the restore? The database may then be restored in part. Its result will say so." },
  drill: {}, // It never changes the database.
};

function Restores({ uuid }: { readonly uuid: string }) {
  const query = useQuery(trpc.databases.restores.list.queryOptions({ uuid }));
  const columns: readonly Column<Restore>[] = [
    ...COLUMNS,
    {
      header: "Action",
      cell: (restore) =>
        restore.status === "running" && (
          <ActionButton
            size="compact-xs"
            {...QUESTIONS[restore.kind]}
            work={() => client.databases.restores.cancel.mutate({ uuid, restore_uuid: restore.uuid })}
            after={({ message }) => notify(message)}
          >
            Cancel {restore.kind}
          </ActionButton>
        ),
    },
  ];
  return (
    <Section title="Restores and drills">
      <Loaded query={query}>
        {(restores) => (
          <DataTable
            label="Restores and drills"
            rows={restores}
            columns={columns}
            keyOf={(restore) => restore.uuid}
            empty={<Empty title="None yet">A backup that was never restored may not be one: run a drill.</Empty>}
          />
        )}
      </Loaded>
    </Section>
  );
}
