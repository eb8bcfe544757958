import { Button, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { client, type Outputs } from "../api/client.ts";
import { Empty, Problem, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

type Event = Outputs["events"]["list"]["events"][number];
const SHOWN = 100;

const NAMES = ["name", "resource_name", "database_name"] as const;

const subjectOf = ({ payload, resource_uuid }: Event): string =>
  NAMES.flatMap((key) => payload[key] ?? []).find((name) => typeof name === "string") ?? resource_uuid ?? "";

const COLUMNS: readonly Column<Event>[] = [
  { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
  { header: "Who", cell: ({ actor }) => <span dir="auto">{actor?.name ?? "Berth"}</span> },
  { header: "What", cell: ({ type }) => type.replace(".", ": ").replaceAll("_", " ") },
  {
    header: "To what",
    cell: (event) => (
      <Text size="sm" className="break" dir="auto">
        {subjectOf(event)}
      </Text>
    ),
  },
];

/** Log of the team's events: the same ones that keep the pages up to date. */
export default function ActivityTab() {
  const query = useInfiniteQuery({
    queryKey: ["events"],
    queryFn: ({ pageParam }) =>
      client.events.list.query({ take: SHOWN, ...(pageParam !== null && { before: pageParam }) }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
  });
  const events = query.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <Section title="Activity" about="What happened in this team, the newest first.">
      {query.isError && <Problem error={query.error} />}
      <DataTable
        label="Activity"
        rows={events}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        textOf={(event) => `${event.type} ${event.actor?.name ?? ""} ${subjectOf(event)}`}
        empty={query.isPending ? null : <Empty title="Nothing happened yet" />}
      />
      {query.hasNextPage && (
        <Button mt="sm" variant="default" onClick={() => void query.fetchNextPage()}>
          Show older
        </Button>
      )}
    </Section>
  );
}
