import { ALL_CONTAINERS, namedLine } from "@berth/core/deploy";
import { Alert, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client, problemOf, trpc } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { type LogEntry, useLines } from "../parts/lines.ts";
import { LogViewer } from "../parts/log-viewer.tsx";
import { Problem } from "../parts/page.tsx";
import { timedLines } from "../parts/timed-line.ts";
import { useContainers } from "./containers.ts";
import { plurals } from "./kinds.ts";
import { deploymentsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

const LINES = 1000;
const LINES_MAX = 10_000;

export default function LogsTab({ resource }: PanelProps) {
  const { kind, uuid, name } = resource;
  const containers = useContainers(resource);
  const [chosen, setContainer] = useState<string>();
  const previews = usePreviews(resource);
  const [wantedPreview, setPreview] = useState(0);
  const preview = previews.find(({ pull_request_id }) => pull_request_id === wantedPreview);
  // A preview that was deleted is left for its application.
  const pullRequest = preview?.pull_request_id ?? 0;
  // A service has no log of its own; an application's is the one of all its containers. A preview may have others.
  const shown = pullRequest === 0 ? chosen : undefined;
  const container = shown ?? (kind === "service" ? containers[0] : undefined);
  const servers = useServers(resource);
  const [server, setServer] = useState<string>();
  const [count, setCount] = useState(LINES);
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([uuid, container, server, pullRequest, count, attempt]);
  const lines = useLines(key);
  const input = {
    ...{ uuid, lines: count },
    ...(container && { container }),
    ...(server && { server_uuid: server }),
    ...(pullRequest !== 0 && { pull_request_id: pullRequest }),
  };
  const stream = useStream<{ readonly data: Printed }>(
    key,
    (handlers) => {
      if (kind === "database") return client.databases.logs.follow.subscribe({ uuid, lines: count }, handlers);
      return client[plurals[kind]].logs.follow.subscribe(input, handlers);
    },
    ({ data }) => lines.push(entryOf(data)),
  );
  const failure = typeof stream === "object" ? stream.error : undefined;
  const isStopped = problemOf(failure)?.code === "resource.not_running";
  // What does not run yet is followed as soon as it may: its start changes its status.
  const status = pullRequest === 0 ? resource.status : preview?.status;
  useEffect(() => {
    if (failure !== undefined) setAttempt((made) => made + 1);
  }, [status]);
  const deployments = useQuery(deploymentsOf(kind, uuid, 1)).data?.deployments ?? [];
  const wasDeployed = preview !== undefined || deployments.length > 0;
  const previous = useQuery({
    ...queriesOf(kind).logs.tail.queryOptions({ ...input, show_timestamps: true, previous: true }),
    enabled: isStopped && wasDeployed,
  });
  useEffect(() => {
    if (isStopped && lines.all.length === 0) lines.push(...timedLines(previous.data?.logs ?? ""));
  }, [isStopped, lines, previous.data]);
  return (
    <>
      {isStopped ? (
        <Alert color="gray" variant="outline" mb="xs" title="It does not run.">
          {lastRunText(wasDeployed, previous.data?.logs)} New lines appear here when it is started.
        </Alert>
      ) : (
        failure !== undefined && <Problem error={failure} />
      )}
      <LogViewer
        lines={lines}
        label={`${name} log`}
        empty={emptyText(stream === "connecting" || previous.isLoading, failure !== undefined)}
        controls={
          <>
            {previews.length > 0 && (
              <Select
                size="xs"
                aria-label="Log of"
                data={[
                  { value: "0", label: "The application" },
                  ...previews.map(({ pull_request_id: number }) => ({
                    value: String(number),
                    label: `Pull request ${number}`,
                  })),
                ]}
                value={String(pullRequest)}
                onChange={(next) => setPreview(Number(next))}
                allowDeselect={false}
              />
            )}
            {containers.length > 1 && pullRequest === 0 && (
              <Select
                size="xs"
                aria-label="Container"
                data={[{ value: ALL_CONTAINERS, label: "All containers" }, ...containers]}
                value={container ?? ALL_CONTAINERS}
                onChange={(next) => setContainer(next ?? undefined)}
                allowDeselect={false}
              />
            )}
            {servers.length > 1 && (
              <Select
                size="xs"
                aria-label="Server"
                data={servers}
                value={server ?? servers[0]?.value ?? null}
                onChange={(next) => setServer(next ?? undefined)}
                allowDeselect={false}
              />
            )}
            <Select
              size="xs"
              w={150}
              aria-label="Lines"
              data={[
                { value: String(LINES), label: "Last 1,000 lines" },
                { value: String(LINES_MAX), label: "Last 10,000 lines" },
              ]}
              value={String(count)}
              onChange={(next) => setCount(Number(next))}
              allowDeselect={false}
            />
          </>
        }
      />
    </>
  );
}

interface Printed {
  readonly line: string;
  readonly moment?: string | undefined;
  readonly container?: string | undefined;
}

const entryOf = ({ moment, ...line }: Printed): LogEntry => ({
  text: namedLine(line),
  ...(moment !== undefined && { at: moment }),
});

function lastRunText(wasDeployed: boolean, logs: string | undefined): string {
  if (!wasDeployed) return "It was never deployed.";
  return logs ? "This is what its last run printed." : "Nothing that its last run printed is kept.";
}

function emptyText(isLoading: boolean, isRefused: boolean): string {
  if (isLoading) return "Connecting …";
  return isRefused ? "No lines." : "It has printed nothing yet. New lines appear here by themselves.";
}

/** The previews of an application, each with an output of its own. */
function usePreviews({ kind, uuid }: PanelProps["resource"]) {
  const enabled = kind === "application";
  return useQuery({ ...trpc.applications.previews.list.queryOptions({ uuid }), enabled }).data ?? [];
}

/** The servers of an application, the first one first. */
function useServers({ kind, uuid }: PanelProps["resource"]) {
  const { data = [] } = useQuery({
    ...trpc.applications.destinations.list.queryOptions({ uuid }),
    enabled: kind === "application",
  });
  const first = data.toSorted((a, b) => Number(b.is_primary) - Number(a.is_primary));
  return first.flatMap(({ server_uuid: value, server_name: label }) => (value === null ? [] : [{ value, label }]));
}
