import { ScheduledTaskCreate, ScheduledTaskUpdate } from "@berth/core/schedule";
import { Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Outputs } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { hasTasks, type KindWithTasks, taskCallsOf, taskQueriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";
import { containersOf, type ShownResource } from "./resource.ts";

type Task = Outputs["applications"]["scheduledTasks"]["list"][number];
type Execution = Outputs["applications"]["scheduledTasks"]["executions"][number];

const FIELDS: readonly FieldGroup[] = [{ fields: ["name", "frequency", "command", "container", "timeout", "enabled"] }];

export default function TasksTab({ resource }: PanelProps) {
  return hasTasks(resource.kind) ? <Tasks resource={resource} kind={resource.kind} /> : null;
}

function Tasks({ resource, kind }: { readonly resource: ShownResource; readonly kind: KindWithTasks }) {
  const { uuid } = resource;
  const [open, setOpen] = useState<string>();
  const [edited, setEdited] = useState<Task | "new">();
  const query = useQuery(taskQueriesOf(kind).list.queryOptions({ uuid }));
  const calls = taskCallsOf(kind);
  const close = () => setEdited(undefined);
  const containers = containersOf(resource);
  const choices = containers.length > 0 ? { container: containers.map((value) => ({ value, label: value })) } : {};
  const columns: readonly Column<Task>[] = [
    {
      header: "Name",
      cell: (task) => (
        <Button variant="transparent" px={0} onClick={() => setEdited(task)}>
          {task.name}
        </Button>
      ),
    },
    { header: "When", cell: ({ frequency, enabled }) => (enabled ? frequency : "switched off") },
    { header: "Command", isExtra: true, cell: ({ command }) => <span className="mono">{command}</span> },
    {
      header: "Action",
      cell: (task) => (
        <RowActions>
          <ActionButton
            size="compact-xs"
            work={() => calls.run.mutate({ uuid, task_uuid: task.uuid })}
            after={() => setOpen(task.uuid)}
          >
            Run now
          </ActionButton>
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => setOpen(open === task.uuid ? undefined : task.uuid)}
          >
            Runs
          </Button>
          <ActionButton
            size="compact-xs"
            question={`Delete the task ${task.name}?`}
            work={() => calls.delete.mutate({ uuid, task_uuid: task.uuid })}
            after={({ message }) => notify(message)}
          >
            Delete
          </ActionButton>
        </RowActions>
      ),
    },
  ];
  return (
    <Stack>
      <Section
        title="Tasks"
        about="Commands that run in the container on a schedule."
        actions={<AllowedButton onClick={() => setEdited("new")}>New task</AllowedButton>}
      >
        <Loaded query={query}>
          {(tasks) => (
            <DataTable
              label="Tasks"
              rows={tasks}
              columns={columns}
              keyOf={(task) => task.uuid}
              textOf={({ name, command }) => `${name} ${command}`}
              empty={
                <Empty title="No tasks">
                  Nightly reports, cleanups and reminders: a command and a schedule such as “daily” or “*/5 * * * *”.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Section>
      {open !== undefined && <Runs uuid={uuid} task={open} kind={kind} />}
      <Dialog
        opened={edited !== undefined}
        onClose={close}
        title={typeof edited === "object" ? edited.name : "New task"}
        size="lg"
      >
        {edited === "new" && (
          <SchemaForm
            schema={ScheduledTaskCreate}
            groups={FIELDS}
            values={{ enabled: true, frequency: "daily" }}
            isNew
            choices={choices}
            submitLabel="Add task"
            submit={(sent) => calls.create.mutate({ uuid, ...sent })}
            after={close}
          />
        )}
        {typeof edited === "object" && (
          <SchemaForm
            schema={ScheduledTaskUpdate}
            groups={FIELDS}
            values={{ ...edited }}
            choices={choices}
            submitLabel="Save task"
            submit={(sent) => calls.update.mutate({ uuid, task_uuid: edited.uuid, ...sent })}
            after={close}
          />
        )}
      </Dialog>
    </Stack>
  );
}

const RUN_COLUMNS: readonly Column<Execution>[] = [
  { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
  { header: "Result", cell: ({ status }) => <RunStatus status={status} /> },
  { header: "Took", isExtra: true, cell: ({ duration }) => (duration === null ? "–" : `${duration} s`) },
  {
    header: "Output",
    cell: ({ message, error_details }) => (
      <Text
        component="pre"
        m={0}
        className="mono break"
        style={{ whiteSpace: "pre-wrap", maxHeight: 160, overflow: "auto" }}
      >
        {message ?? error_details ?? ""}
      </Text>
    ),
  },
];

function Runs({ uuid, task, kind }: { readonly uuid: string; readonly task: string; readonly kind: KindWithTasks }) {
  const query = useQuery(taskQueriesOf(kind).executions.queryOptions({ uuid, task_uuid: task }));
  return (
    <Section title="Runs">
      <Loaded query={query}>
        {(executions) => (
          <DataTable
            label="Runs"
            rows={executions}
            columns={RUN_COLUMNS}
            keyOf={(execution) => execution.uuid}
            empty={<Empty title="It has not run yet" />}
          />
        )}
      </Loaded>
    </Section>
  );
}
