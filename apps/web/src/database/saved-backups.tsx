import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Chart } from "../parts/lazy.tsx";
import { Empty, Loaded } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { bytes } from "../parts/units.ts";
import { downloadBackup } from "./download-backup.ts";

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
                needs="read:sensitive"
                hasCode={false}
                work={() => downloadBackup(of(backup))}
              >
                Download
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
        <Stack gap="xs">
          {executions.length > 1 && <SizeChart backups={executions} />}
          <DataTable
            label="Saved backups"
            rows={executions}
            columns={columns}
            keyOf={(backup) => backup.uuid}
            empty={<Empty title="It has not run yet" />}
          />
        </Stack>
      )}
    </Loaded>
  );
}

/** Sizes over time, with a gap for each that failed. A database that shrinks suddenly has lost something. */
function SizeChart({ backups }: { readonly backups: readonly Saved[] }) {
  const { times, sizes } = useMemo(() => {
    const inOrder = backups.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
    return {
      times: inOrder.map(({ created_at }) => Date.parse(created_at) / 1000),
      sizes: inOrder.map(({ status, size }) => (status === "success" && size !== null ? Number(size) : null)),
    };
  }, [backups]);
  return <Chart title="Size" times={times} values={sizes} format={bytes} />;
}
