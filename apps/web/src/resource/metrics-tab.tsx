import { useQuery } from "@tanstack/react-query";
import { Metrics } from "../parts/metrics.tsx";
import { callsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

export default function MetricsTab({ resource: { kind, uuid } }: PanelProps) {
  return (
    <Metrics
      uuid={uuid}
      about={
        kind === "service"
          ? "What its containers use together."
          : "What its processes use. Two busy processors are 200 %."
      }
      useSamples={(since) => useQuery(queriesOf(kind).metrics.list.queryOptions({ uuid, since }))}
      follow={(since) => (handlers) => callsOf(kind).metrics.follow.subscribe({ uuid, since }, handlers)}
    />
  );
}
