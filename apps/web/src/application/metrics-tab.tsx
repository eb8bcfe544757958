import { SegmentedControl, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { trpc } from "../api/client.ts";
import { Chart } from "../parts/lazy.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { bytes } from "../parts/units.ts";
import type { PanelProps } from "../resource/panel.ts";

const RANGES = { "1 hour": 1, "6 hours": 6, "24 hours": 24 } as const;
type Range = keyof typeof RANGES;
const isRange = (text: string): text is Range => text in RANGES;
const percent = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} %`;

export default function MetricsTab({ resource: { uuid } }: PanelProps) {
  const [range, setRange] = useState<Range>("1 hour");
  // Rounded to a minute: otherwise every render would start another query.
  const since = useMemo(
    () => new Date(Math.floor(Date.now() / 60_000 - 60 * RANGES[range]) * 60_000).toISOString(),
    [range],
  );
  const query = useQuery(trpc.applications.metrics.list.queryOptions({ uuid, since }));
  return (
    <Section
      title="Metrics"
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
      <Loaded query={query}>
        {(metrics) => {
          if (metrics.length === 0) {
            return (
              <Empty title="Nothing measured yet">
                A sample is taken every minute while it runs, and kept for a day.
              </Empty>
            );
          }
          const times = metrics.map(({ at }) => Date.parse(at) / 1000);
          return (
            <Stack>
              <Chart
                title="CPU"
                times={times}
                values={metrics.map(({ cpu_percent }) => cpu_percent)}
                format={percent}
              />
              <Chart
                title="Memory"
                times={times}
                values={metrics.map(({ memory_bytes }) => memory_bytes)}
                format={bytes}
              />
              <Chart
                title="Processes"
                times={times}
                values={metrics.map(({ processes }) => processes)}
                format={String}
              />
            </Stack>
          );
        }}
      </Loaded>
    </Section>
  );
}
