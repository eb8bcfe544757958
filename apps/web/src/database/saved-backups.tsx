import { SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { client, trpc } from "../api/client.ts";
import { ActionButton, DangerButton, notify } from "../parts/action.tsx";
import { Chart } from "../parts/lazy.tsx";
import { Empty, Loaded } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { bytes, duration } from "../parts/units.ts";
import type { ShownResource } from "../resource/resource.ts";
import { type BackupHistory, historiesOf, type SavedBackup } from "./backup-history.ts";
import { downloadBackup } from "./download-backup.ts";

const DATABASE: Column<SavedBackup> = { header: "Database", cell: ({ database_name }) => database_name ?? "all" };

/** Backups made by a schedule. */
export function SavedBackups({
  database: { uuid, name },
  schedule,
}: {
  readonly database: Pick<ShownResource, "uuid" | "name">;
  readonly schedule: string;
}) {
  const query = useQuery(trpc.databases.backups.executions.queryOptions({ uuid, scheduled_backup_uuid: schedule }));
  const of = (backup: SavedBackup) => ({ uuid, scheduled_backup_uuid: schedule, execution_uuid: backup.uuid });
  const histories = useMemo(() => historiesOf(query.data?.executions ?? []), [query.data]);
  const hasSeveral = histories.length > 1;
  const columns: readonly Column<SavedBackup>[] = [
    ...(hasSeveral ? [DATABASE] : []),
    { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
    {
      header: "Result",
      cell: ({ status, message }) => (
        <>
          <RunStatus status={status} />
          {message !== null && (
            <Text size="xs" c="dimmed" className="break">
              {message}
            </Text>
          )}
        </>
      ),
    },
    { header: "Size", cell: ({ size }) => (size === null ? "–" : bytes(Number(size))) },
    {
      header: "Took",
      isExtra: true,
      cell: (backup) => (backup.duration === null ? "–" : duration(backup.duration * 1000)),
    },
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
              <DangerButton
                size="compact-xs"
                name={name}
                about="This backup replaces what the database contains now. What was written since it was made is lost."
                work={() => client.databases.restores.restore.mutate(of(backup))}
                after={({ message }) => notify(message)}
              >
                Restore
              </DangerButton>
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
          {histories.map((history) => (
            <History key={history.database} history={history} isNamed={hasSeveral} />
          ))}
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

/** A database that shrinks suddenly has lost something, and one that takes ever longer needs another schedule. */
function History({ history, isNamed }: { readonly history: BackupHistory; readonly isNamed: boolean }) {
  const { database, times, sizes, durationsMs, failures } = history;
  if (times.length < 2) return null;
  const common = { times, failures, newest: "last" };
  const ofDatabase = isNamed ? ` of ${database ?? "all databases"}` : "";
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Chart {...common} title={`Size${ofDatabase}`} values={sizes} format={bytes} />
      <Chart {...common} title={`Duration${ofDatabase}`} values={durationsMs} format={duration} />
    </SimpleGrid>
  );
}
