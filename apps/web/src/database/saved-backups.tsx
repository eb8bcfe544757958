import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Empty, Loaded } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { bytes } from "../parts/units.ts";

type Saved = Outputs["databases"]["backups"]["executions"]["executions"][number];

/** Backups made by a schedule. */
export function SavedBackups({ uuid, schedule }: { readonly uuid: string; readonly schedule: string }) {
  const query = useQuery(trpc.databases.backups.executions.queryOptions({ uuid, scheduled_backup_uuid: schedule }));
  const of = (backup: Saved) => ({ uuid, scheduled_backup_uuid: schedule, execution_uuid: backup.uuid });
  const columns: readonly Column<Saved>[] = [
    { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
    { header: "Result", cell: ({ status }) => <RunStatus status={status} /> },
    { header: "Size", cell: ({ size }) => (size === null ? "–" : bytes(Number(size))) },
    {
      header: "Action",
      cell: (backup) => (
        <RowActions>
          {backup.status === "running" && (
            <ActionButton
              size="compact-xs"
              work={() => client.databases.backups.cancelExecution.mutate(of(backup))}
              after={({ message }) => notify(message)}
            >
              Cancel
            </ActionButton>
          )}
          {backup.status === "success" && (
            <>
              <ActionButton
                size="compact-xs"
                work={() => client.databases.restores.drill.mutate(of(backup))}
                after={({ message }) => notify(message)}
              >
                Drill
              </ActionButton>
              <ActionButton
                size="compact-xs"
                question="Restore this backup? It replaces the current content of the database."
                work={() => client.databases.restores.restore.mutate(of(backup))}
                after={({ message }) => notify(message)}
              >
                Restore
              </ActionButton>
            </>
          )}
        </RowActions>
      ),
    },
  ];
  return (
    <Loaded query={query}>
      {({ executions }) => (
        <DataTable
          label="Saved backups"
          rows={executions}
          columns={columns}
          keyOf={(backup) => backup.uuid}
          empty={<Empty title="It has not run yet" />}
        />
      )}
    </Loaded>
  );
}
