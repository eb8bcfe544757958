import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Outputs, trpc } from "../api/client.ts";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age, Elapsed } from "../parts/time.tsx";

type Job = Outputs["jobs"]["list"][number];

const COLUMNS: readonly Column<Job>[] = [
  { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
  { header: "What", cell: ({ type }) => type.replace(".", ": ").replaceAll("_", " ") },
  {
    header: "Result",
    cell: ({ status, error }) => (
      <>
        <RunStatus status={status} />
        {error !== null && (
          <Text size="xs" c="dimmed" className="break">
            {error}
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

/** @param uuid Uuid of the server. */
export default function JobsTab({ uuid }: { readonly uuid: string }) {
  const query = useQuery(trpc.jobs.list.queryOptions({ subject: uuid, take: 100 }));
  return (
    <Section title="Jobs" about="Work that continues after its button was pressed.">
      <Loaded query={query}>
        {(jobs) => (
          <DataTable
            label="Jobs"
            rows={jobs}
            columns={COLUMNS}
            keyOf={(job) => job.uuid}
            empty={<Empty title="No jobs" />}
          />
        )}
      </Loaded>
    </Section>
  );
}
