import { Anchor } from "@mantine/core";
import type { Outputs } from "../api/client.ts";
import { Empty, Section } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import type { PanelProps } from "../resource/panel.ts";

type Service = Outputs["services"]["get"];
type Container = Service["applications"][number] | Service["databases"][number];

const COLUMNS: readonly Column<Container>[] = [
  { header: "Name", cell: ({ name }) => name },
  { header: "Status", cell: ({ status }) => <Status status={status} /> },
  { header: "Image", isExtra: true, cell: ({ image }) => <span className="mono">{image ?? "built"}</span> },
  {
    header: "URL",
    cell: (container) =>
      "urls" in container && container.urls.length > 0
        ? container.urls.map((url) => (
            <Anchor key={url} href={url} target="_blank" rel="noreferrer" size="sm" display="block">
              {url.replace(/^https?:\/\//, "")}
            </Anchor>
          ))
        : "–",
  },
];

export default function ContainersTab({ resource: { service } }: PanelProps) {
  if (service === undefined) return null;
  return (
    <Section title="Containers">
      <DataTable
        label="Containers"
        rows={[...service.applications, ...service.databases]}
        columns={COLUMNS}
        keyOf={({ uuid }) => uuid}
        empty={<Empty title="The compose file has no containers" />}
      />
    </Section>
  );
}
