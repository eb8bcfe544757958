import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import type { PanelProps } from "../resource/panel.ts";

type Preview = Outputs["applications"]["previews"]["list"][number];

export default function PreviewsTab({ resource: { uuid, application } }: PanelProps) {
  const query = useQuery(trpc.applications.previews.list.queryOptions({ uuid }));
  const columns: readonly Column<Preview>[] = [
    {
      header: "Pull request",
      cell: ({ pull_request_id, pull_request_html_url }) => (
        <Anchor href={pull_request_html_url} target="_blank" rel="noreferrer" size="sm">
          #{pull_request_id}
        </Anchor>
      ),
    },
    { header: "Status", cell: ({ status }) => <Status status={status} /> },
    {
      header: "URL",
      cell: ({ urls: [url] }) =>
        url === undefined ? (
          "–"
        ) : (
          <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
            {url.replace(/^https?:\/\//, "")}
          </Anchor>
        ),
    },
    {
      header: "Action",
      cell: ({ pull_request_id }) => (
        <ActionButton
          size="compact-xs"
          question={`Delete the preview of pull request ${pull_request_id}?`}
          work={() => client.applications.previews.delete.mutate({ uuid, pull_request_id })}
          after={({ message }) => notify(message)}
        >
          Delete
        </ActionButton>
      ),
    },
  ];
  const isOn = application?.settings?.is_preview_deployments_enabled === true;
  return (
    <Section title="Previews" about="A copy of the application for each pull request, with a URL of its own.">
      <Loaded query={query}>
        {(previews) => (
          <DataTable
            label="Previews"
            rows={previews}
            columns={columns}
            keyOf={({ uuid: preview }) => preview}
            empty={
              <Empty title="No previews">
                {isOn
                  ? "Open a pull request: its preview is deployed by the webhook of the repository."
                  : "Previews are switched off. Settings → Previews turns them on."}
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}
