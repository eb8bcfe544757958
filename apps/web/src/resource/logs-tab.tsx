import { ALL_CONTAINERS, namedLine } from "@berth/core/deploy";
import { Select } from "@mantine/core";
import { useState } from "react";
import { client } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { useLines } from "../parts/lines.ts";
import { LogViewer } from "../parts/log-viewer.tsx";
import { Problem } from "../parts/page.tsx";
import { plurals } from "./kinds.ts";
import type { PanelProps } from "./panel.ts";
import { containersOf } from "./resource.ts";

const LINES = 1000;

export default function LogsTab({ resource }: PanelProps) {
  const { kind, uuid, name } = resource;
  const containers = containersOf(resource);
  const [container, setContainer] = useState(containers[0]);
  const key = `${uuid} ${container ?? ""}`;
  const lines = useLines(key);
  const stream = useStream<{ readonly data: { readonly line: string; readonly container?: string | undefined } }>(
    key,
    (handlers) => {
      const input = { uuid, lines: LINES };
      if (kind === "database") return client.databases.logs.follow.subscribe(input, handlers);
      return client[plurals[kind]].logs.follow.subscribe({ ...input, ...(container && { container }) }, handlers);
    },
    ({ data }) => lines.push({ text: namedLine(data) }),
  );
  const failure = typeof stream === "object" ? stream.error : undefined;
  return (
    <>
      {failure !== undefined && <Problem error={failure} />}
      <LogViewer
        lines={lines}
        label={`${name} log`}
        empty={
          stream === "connecting" ? "Connecting …" : "It has printed nothing yet. New lines appear here by themselves."
        }
        controls={
          containers.length > 1 && (
            <Select
              size="xs"
              aria-label="Container"
              data={[{ value: ALL_CONTAINERS, label: "All containers" }, ...containers]}
              value={container ?? null}
              onChange={(chosen) => setContainer(chosen ?? undefined)}
              allowDeselect={false}
            />
          )
        }
      />
    </>
  );
}
