import { Button, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { client, trpc } from "../api/client.ts";
import { TextLink } from "../parts/link.tsx";
import { Empty, Problem, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { plurals } from "../resource/kinds.ts";
import { type Event, type Subject, type SubjectPage, subjectsOf } from "./event-subject.ts";

interface Row {
  readonly event: Event;
  readonly subject: Subject | undefined;
}
const SHOWN = 100;
const NONE: readonly [] = [];

const COLUMNS: readonly Column<Row>[] = [
  { header: "When", cell: ({ event: { created_at } }) => <Age at={created_at} /> },
  { header: "Who", cell: ({ event: { actor } }) => <span dir="auto">{actor?.name ?? "Berth"}</span> },
  { header: "What", cell: ({ event: { type } }) => type.replace(".", ": ").replaceAll("_", " ") },
  {
    header: "To what",
    cell: ({ subject }) => (
      <Text size="sm" className="break" dir="auto">
        {subject?.page === undefined ? subject?.name : <SubjectLink page={subject.page}>{subject.name}</SubjectLink>}
      </Text>
    ),
  },
];

function SubjectLink({ page, children }: { readonly page: SubjectPage; readonly children: string }) {
  switch (page.page) {
    case "deployment":
      return (
        <TextLink to="/deployments/$uuid" params={{ uuid: page.uuid }} size="sm">
          {children}
        </TextLink>
      );
    case "project":
      return (
        <TextLink to="/projects/$uuid" params={{ uuid: page.uuid }} size="sm">
          {children}
        </TextLink>
      );
    case "server":
      return (
        <TextLink to="/servers/$uuid/{-$tab}" params={page} size="sm">
          {children}
        </TextLink>
      );
    case "team":
      return (
        <TextLink to="/team/{-$tab}" params={page} size="sm">
          {children}
        </TextLink>
      );
    default:
      return (
        <TextLink to={`/${plurals[page.page]}/$uuid/{-$tab}`} params={page} size="sm">
          {children}
        </TextLink>
      );
  }
}

/** Log of the team's events: the same ones that keep the pages up to date. */
export default function ActivityTab() {
  const query = useInfiniteQuery({
    queryKey: ["events"],
    queryFn: ({ pageParam }) =>
      client.events.list.query({ take: SHOWN, ...(pageParam !== null && { before: pageParam }) }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
  });
  const { data: resources = NONE } = useQuery(trpc.resources.summaries.queryOptions({}));
  const { data: servers = NONE } = useQuery(trpc.servers.list.queryOptions({}));
  const { data: projects = NONE } = useQuery(trpc.projects.list.queryOptions({}));
  const pages = query.data?.pages;
  const rows = useMemo(() => {
    const events = pages?.flatMap((page) => page.events) ?? [];
    const subjects = subjectsOf(events, { resources, servers, projects });
    return events.map((event): Row => ({ event, subject: subjects.get(event.id) }));
  }, [pages, resources, servers, projects]);
  return (
    <Section title="Activity" about="What happened in this team, the newest first.">
      {query.isError && <Problem error={query.error} />}
      <DataTable
        label="Activity"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ event }) => event.id}
        textOf={({ event, subject }) => `${event.type} ${event.actor?.name ?? ""} ${subject?.name ?? ""}`}
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
