import { GithubAppCreate, GithubAppUpdate } from "@berth/core/source";
import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type App = Outputs["githubApps"]["list"][number];
const GROUPS = [
  { fields: ["name", "app_id", "installation_id", "client_id", "client_secret", "webhook_secret", "private_key_uuid"] },
  { title: "GitHub Enterprise", fields: ["html_url", "api_url", "organization", "custom_user", "custom_port"] },
];
const NEW = { html_url: "https://github.com" };

export default function GitHostsTab() {
  const keys = useQuery(trpc.privateKeys.list.queryOptions({}));
  const choices = {
    private_key_uuid: (keys.data ?? []).map(({ uuid, name }) => ({ value: uuid, label: name })),
  };
  const columns: readonly Column<App>[] = [
    { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
    {
      header: "Host",
      isExtra: true,
      cell: ({ html_url }) => (
        <Anchor href={html_url} target="_blank" rel="noreferrer" size="sm">
          {html_url.replace(/^https?:\/\//, "")}
        </Anchor>
      ),
    },
    { header: "App", isExtra: true, cell: ({ app_id }) => <span className="mono break">{app_id ?? "–"}</span> },
    {
      header: "Action",
      cell: ({ id, name, ...app }) => (
        <RowActions>
          <EditButton
            aria-label={`Edit ${name}`}
            title={`GitHub app: ${name}`}
            schema={GithubAppUpdate}
            groups={GROUPS}
            values={{ name, ...app }}
            choices={choices}
            placeholders={{ client_secret: STORED, webhook_secret: STORED }}
            submitLabel="Save"
            submit={(sent) => client.githubApps.update.mutate({ github_app_id: id, ...sent })}
          >
            Edit
          </EditButton>
          <ActionButton
            size="compact-xs"
            aria-label={`Look up the repositories of ${name}`}
            work={() => client.githubApps.repositories.query({ github_app_id: id })}
            after={({ repositories }) =>
              notify(`GitHub answers. Repositories that ${name} may read: ${repositories.length}`)
            }
          >
            Test
          </ActionButton>
          <ActionButton
            size="compact-xs"
            aria-label={`Delete ${name}`}
            question={`Delete ${name}? Applications that use it cannot be fetched any more.`}
            work={() => client.githubApps.delete.mutate({ github_app_id: id })}
            after={({ message }) => notify(message)}
          >
            Delete
          </ActionButton>
        </RowActions>
      ),
    },
  ];
  return (
    <Collection
      title="GitHub apps"
      about="They read private repositories and report pushes. Other hosts, such as GitLab, use a deploy key and a webhook of the application."
      query={useQuery(trpc.githubApps.list.queryOptions({}))}
      columns={columns}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, html_url }) => `${name} ${html_url}`}
      empty={
        <Empty title="No GitHub apps">
          Public repositories need none. For private ones, register an app at GitHub, with the webhook address{" "}
          <span className="mono break">{location.origin}/webhooks/source/github/events</span>, and add it here.
        </Empty>
      }
      create={{
        label: "Add a GitHub app",
        schema: GithubAppCreate,
        groups: GROUPS,
        values: NEW,
        choices,
        submit: (sent) => client.githubApps.create.mutate(sent),
      }}
    />
  );
}
