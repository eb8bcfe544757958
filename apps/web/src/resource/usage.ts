import { useDocumentVisibility } from "@mantine/hooks";
import { useState } from "react";
import { client, type Outputs } from "../api/client.ts";
import { pageStarted, useStream } from "../api/live.ts";
import { isUp } from "../parts/state.tsx";
import { bytes, percent } from "../parts/units.ts";

type Sample = Outputs["resources"]["usage"]["list"][number];
/** What running resources use, by uuid. */
export type Usage = ReadonlyMap<string, Sample>;

export const usageOf = (samples: readonly Sample[]): Usage => new Map(samples.map((sample) => [sample.uuid, sample]));

const NOTHING = usageOf([]);

/** Follows what all running resources use while the page is seen: tabs in the background would hold streams open. */
export function useUsage(): Usage {
  const [usage, setUsage] = useState(NOTHING);
  const visibility = useDocumentVisibility();
  const stream = useStream<readonly Sample[]>(
    visibility,
    (handlers) => {
      let stop = () => {};
      let isOver = visibility === "hidden";
      void pageStarted.then(() => {
        if (!isOver) stop = client.resources.usage.follow.subscribe({}, handlers).unsubscribe;
      });
      return {
        unsubscribe() {
          isOver = true;
          stop();
        },
      };
    },
    (samples) => setUsage(usageOf(samples)),
  );
  // What is not followed any more would be shown for ever.
  return stream === "ended" || typeof stream === "object" ? NOTHING : usage;
}

/** `1.2 %, 84 MB` of these resources together; `undefined` when none of them runs and was measured. */
export function usageText(
  usage: Usage,
  resources: readonly { readonly uuid: string; readonly status: string }[],
): string | undefined {
  // The last sample of what was stopped is current for two minutes more.
  const measured = resources.filter(({ status }) => isUp(status)).flatMap(({ uuid }) => usage.get(uuid) ?? []);
  if (measured.length === 0) return undefined;
  const sum = (of: (sample: Sample) => number) => measured.reduce((total, sample) => total + of(sample), 0);
  // The first sample of a release has no processor time yet.
  const isKnown = measured.some(({ cpu_percent }) => cpu_percent !== null);
  const memory = bytes(sum(({ memory_bytes }) => memory_bytes));
  return isKnown ? `${percent(sum(({ cpu_percent }) => cpu_percent ?? 0))}, ${memory}` : memory;
}
