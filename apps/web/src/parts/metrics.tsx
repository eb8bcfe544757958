import { SegmentedControl, Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Subscribe, useStream } from "../api/live.ts";
import { Chart } from "./lazy.tsx";
import { Empty, Loaded, Problem, Section } from "./page.tsx";
import { bytes, percent } from "./units.ts";

export interface Sample {
  readonly at: string;
  readonly cpu_percent: number | null;
  readonly memory_bytes: number;
  readonly processes: number;
}

interface MetricsProps {
  /** What is measured; another one starts anew. */
  readonly uuid: string;
  readonly about: string;
  /** A hook: samples from this time on. */
  readonly useSamples: (since: string) => UseQueryResult<readonly Sample[], unknown>;
  readonly follow: (since: string) => Subscribe<{ readonly data: Sample }>;
}

const RANGES = { "1 hour": 1, "6 hours": 6, "24 hours": 24 } as const;
type Range = keyof typeof RANGES;
const isRange = (text: string): text is Range => text in RANGES;
/** Longer than a list is kept, so that it and the stream overlap. */
const OVERLAP_MINUTES = 3;

const minutesAgo = (minutes: number): string =>
  // Rounded to a minute: otherwise every render would start another query.
  new Date(Math.floor(Date.now() / 60_000 - minutes) * 60_000).toISOString();

/** Charts of what a resource or a server used, which grow as samples are taken. */
export function Metrics({ uuid, about, useSamples, follow }: MetricsProps) {
  const [range, setRange] = useState<Range>("1 hour");
  const since = useMemo(() => minutesAgo(60 * RANGES[range]), [range]);
  const query = useSamples(since);
  const [added, setAdded] = useState<readonly Sample[]>([]);
  const stream = useStream<{ readonly data: Sample }>(
    uuid,
    (handlers) => {
      setAdded([]);
      return follow(minutesAgo(OVERLAP_MINUTES))(handlers);
    },
    ({ data }) => setAdded((before) => [...before, data]),
  );
  return (
    <Section
      title="Metrics"
      about={about}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Time range"
          data={Object.keys(RANGES)}
          value={range}
          onChange={(chosen) => isRange(chosen) && setRange(chosen)}
        />
      }
    >
      {typeof stream === "object" && <Problem error={stream.error} />}
      <Loaded query={query}>{(listed) => <Charts listed={listed} added={added} since={since} />}</Loaded>
    </Section>
  );
}

interface ChartsProps {
  readonly listed: readonly Sample[];
  readonly added: readonly Sample[];
  readonly since: string;
}

function Charts({ listed, added, since }: ChartsProps) {
  const { times, cpu, memory, processes } = useMemo(() => {
    const samples = merged([...listed, ...added.filter(({ at }) => Date.parse(at) >= Date.parse(since))]);
    return {
      times: samples.map(({ at }) => Date.parse(at) / 1000),
      cpu: samples.map(({ cpu_percent }) => cpu_percent),
      memory: samples.map(({ memory_bytes }) => memory_bytes),
      processes: samples.map((sample) => sample.processes),
    };
  }, [listed, added, since]);
  if (times.length === 0) {
    return (
      <Empty title="Nothing measured yet">A sample is taken every minute while it runs, and kept for a day.</Empty>
    );
  }
  return (
    <Stack>
      <Text size="xs" c="dimmed" role="status">
        {times.length} samples
      </Text>
      <Chart title="CPU" times={times} values={cpu} format={percent} />
      <Chart title="Memory" times={times} values={memory} format={bytes} />
      <Chart title="Processes" times={times} values={processes} format={String} />
    </Stack>
  );
}

/** In order of time. A later sample of the same time replaces the one before. */
export function merged(samples: readonly Sample[]): readonly Sample[] {
  const byTime = new Map(samples.map((sample) => [Date.parse(sample.at), sample]));
  return [...byTime].sort(([a], [b]) => a - b).map(([, sample]) => sample);
}
