import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { Metrics } from "../parts/metrics.tsx";

export default function MetricsTab({ uuid }: { readonly uuid: string }) {
  return (
    <Metrics
      uuid={uuid}
      about="What its resources use together. Two busy processors are 200 %. Other programs of the machine are not counted."
      useSamples={(since) => useQuery(trpc.servers.metrics.list.queryOptions({ uuid, since }))}
      follow={(since) => (handlers) => client.servers.metrics.follow.subscribe({ uuid, since }, handlers)}
    />
  );
}
