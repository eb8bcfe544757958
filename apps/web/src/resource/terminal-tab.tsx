import { Select, Stack } from "@mantine/core";
import { useState } from "react";
import { Terminal } from "../parts/lazy.tsx";
import { useContainers } from "./containers.ts";
import type { PanelProps } from "./panel.ts";

export default function TerminalTab({ resource }: PanelProps) {
  const { kind, uuid, name } = resource;
  const containers = useContainers(resource);
  const [chosen, setContainer] = useState<string>();
  const container = chosen ?? containers[0];
  return (
    <Stack>
      {containers.length > 1 && (
        <Select
          size="xs"
          aria-label="Container"
          data={[...containers]}
          value={container ?? null}
          onChange={(chosen) => setContainer(chosen ?? undefined)}
          allowDeselect={false}
        />
      )}
      <Terminal label={`Terminal of ${name}`} place={{ kind, uuid, ...(container && { container }) }} />
    </Stack>
  );
}
